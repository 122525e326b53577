// The receiving end of published policies. The held version and its successor are in two images
// that exchange their roles, so a policy that fails to decode leaves the held version intact. A
// complete policy of another precision replaces the images, one with each of the next two policies.
#include "policy/codec/codec_receiver.h"

#include <inttypes.h>
#include <stdlib.h>

#include "common/oct_base.h"
#include "common/oct_reason.h"
#include "policy/policy_header.h"

struct codec_receiver {
    policy_image *images[2]; // the held version and the image for the next one; NULL until needed
    codec_coder *coder;      // made with the first change; NULL: not yet
    uint32_t held;           // index of the held version in images
    bool is_empty;           // no version is held; the content of images is then unused
    uint64_t older;          // see codec_receiver_older
};

codec_receiver *
codec_receiver_create(void)
{
    codec_receiver *receiver = oct_alloc(sizeof(*receiver));
    receiver->is_empty = true;
    return receiver;
}

void
codec_receiver_destroy(codec_receiver *receiver)
{
    if (receiver != NULL) {
        codec_receiver_reset(receiver);
        policy_image_destroy(receiver->images[0]);
        policy_image_destroy(receiver->images[1]);
        codec_coder_destroy(receiver->coder);
        free(receiver);
    }
}

void
codec_receiver_reset(codec_receiver *receiver)
{
    receiver->is_empty = true;
}

uint64_t
codec_receiver_older(const codec_receiver *receiver)
{
    return receiver->older;
}

uint64_t
codec_receiver_version(const codec_receiver *receiver)
{
    return receiver->is_empty ? 0 : receiver->images[receiver->held]->origin.version;
}

static bool
fits(const policy_image *image, const policy_head_info *head)
{
    return image != NULL && image->precision == head->precision &&
           policy_spec_equal(&image->spec, &head->spec);
}

// Makes the image for the next policy, unless the present one has its shape. The held image stays.
// OCT_EPROTO: the policy would exceed POLICY_BYTES_MAX.
static oct_err
room_make(codec_receiver *receiver, const policy_parser *parser, const policy_head_info *head)
{
    policy_image **next = &receiver->images[1 - receiver->held];
    if (!fits(*next, head)) {
        policy_image_destroy(*next);
        *next = NULL;
        codec_coder_destroy(receiver->coder);
        receiver->coder = NULL;
        if (policy_image_reserve(next, &head->spec, head->precision) != OCT_OK) {
            return policy_refuse(parser, "its layers need more than %u bytes", POLICY_BYTES_MAX);
        }
    }
    return OCT_OK;
}

static oct_err
complete_take(codec_receiver *receiver, policy_parser *parser, const policy_head_info *head,
              size_t length)
{
    OCT_TRY(policy_complete_check(parser, head, length));
    OCT_TRY(room_make(receiver, parser, head));
    return policy_tensors_read(parser, receiver->images[1 - receiver->held], head);
}

static oct_err
change_take(codec_receiver *receiver, policy_parser *parser, const policy_head_info *head)
{
    const policy_image *base = receiver->images[receiver->held];
    if (receiver->is_empty || head->origin.run_id != base->origin.run_id ||
        head->origin.base_version != base->origin.version) {
        (void)policy_refuse(parser,
                            "the policy is a change of version %" PRIu64 ", but version %" PRIu64
                            " is held",
                            head->origin.base_version, codec_receiver_version(receiver));
        return OCT_ENOTFOUND;
    }
    if (!fits(base, head)) {
        return policy_refuse(parser, "the policy's network or precision differs from its base's");
    }
    OCT_TRY(room_make(receiver, parser, head));
    if (receiver->coder == NULL) {
        receiver->coder = codec_coder_create(&head->spec, head->precision);
    }
    return codec_delta_read(parser, receiver->coder, receiver->images[1 - receiver->held], base,
                            head);
}

oct_err
codec_receiver_take(codec_receiver *receiver, const uint8_t *bytes, size_t length,
                    const policy_image **image, oct_reason *why)
{
    policy_parser parser;
    policy_head_info head;
    OCT_TRY(policy_header_read(&parser, &head, bytes, length, why));
    if (head.origin.version == 0) {
        return policy_refuse(&parser, "the policy has no version");
    }
    const policy_image *held = receiver->is_empty ? NULL : receiver->images[receiver->held];
    if (held != NULL && head.origin.run_id == held->origin.run_id &&
        head.origin.version <= held->origin.version) {
        receiver->older += head.origin.version < held->origin.version;
        return OCT_EAGAIN;
    }
    if (head.origin.base_version != 0) {
        OCT_TRY(change_take(receiver, &parser, &head));
    } else if (held != NULL && head.origin.run_id != held->origin.run_id) {
        return policy_refuse(&parser, "the policy belongs to another run");
    } else if (held != NULL && !policy_spec_equal(&head.spec, &held->spec)) {
        return policy_refuse(&parser, "the policy's network differs from its run's");
    } else {
        OCT_TRY(complete_take(receiver, &parser, &head, length));
    }
    receiver->held = 1 - receiver->held;
    receiver->is_empty = false;
    *image = receiver->images[receiver->held];
    return OCT_OK;
}
