// Translates NNG's and libuv's error codes to ours.
#include "net/net_internal.h"

oct_err
net_err_from_nng(int code)
{
    switch (code) {
    case 0:
        return OCT_OK;
    case NNG_EAGAIN:
        return OCT_EAGAIN;
    case NNG_ETIMEDOUT:
        return OCT_ETIMEDOUT;
    case NNG_ECLOSED:
    case NNG_ECANCELED:
        return OCT_ECLOSED;
    case NNG_EINVAL:
    case NNG_EADDRINVAL:
        return OCT_EINVAL;
    case NNG_EPROTO:
    case NNG_EMSGSIZE:
        return OCT_EPROTO;
    default:
        return OCT_EIO;
    }
}

oct_err
net_err_from_uv(int code)
{
    switch (code) {
    case 0:
        return OCT_OK;
    case UV_EINVAL:
        return OCT_EINVAL;
    case UV_ENOENT:
        return OCT_ENOTFOUND;
    default:
        return OCT_EIO;
    }
}
