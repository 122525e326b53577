// Checks the network for octet doctor: local sockets, ports, certificates.

#include "cli/doctor/cli_doctor.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "cli/cluster/cli_cluster_plan.h"
#include "cli/dash/cli_dash_server.h"
#include "common/oct_file.h"
#include "common/oct_reason.h"
#include "net/net_certificates.h"
#include "net/net_http.h"

#define CA_FOLDER "octet-certs" // the default folder of octet certs
#define SOON_DAYS 30            // a certificate that ends earlier gets a warning
// bytes, without the terminating zero
#define SOCKET_PATH_MAX (sizeof(((struct sockaddr_un *)0)->sun_path) - 1)
#define SECONDS_A_DAY   86400

// ---- local sockets

// Makes a local socket, as the daemons do.
static void
socket_check(cli_doctor *doctor)
{
    int code = doctor->is_writable ? cli_folder_try_socket(doctor->folder) : 0;
    if (code != 0) {
        cli_doctor_add(doctor, "sockets", CLI_DOCTOR_FAIL,
                       "choose a folder on another file system (--run-dir)",
                       "the daemons' sockets cannot be made in %s: %s", doctor->folder,
                       strerror(code));
        return;
    }
    cli_doctor_add(doctor, "sockets", CLI_DOCTOR_OK, "",
                   doctor->is_writable ? "local sockets can be made in the folder"
                                       : "not tried: the folder cannot be written to");
    size_t length = strlen(doctor->folder) + strlen("/learner.ipc");
    if (length > SOCKET_PATH_MAX) {
        cli_doctor_add(doctor, "sockets", CLI_DOCTOR_NOTE,
                       "a shorter path lets programs outside the folder name them",
                       "paths of sockets in the folder have %zu bytes, and %zu are allowed; octet "
                       "and its daemons enter the folder instead",
                       length, SOCKET_PATH_MAX);
    }
}

// ---- ports

// Finds out whether a port is free by listening at it.
static void
port_check(cli_doctor *doctor, unsigned port, const char *what, const char *option)
{
    char url[64];
    oct_reason why;
    char advice[128];
    int fd;
    (void)snprintf(url, sizeof(url), "http://127.0.0.1:%u", port);
    if (net_http_listen(&fd, url, &why) == OCT_OK) {
        (void)close(fd);
        cli_doctor_add(doctor, "ports", CLI_DOCTOR_OK, "", "%u is free (%s)", port, what);
        return;
    }
    (void)snprintf(advice, sizeof(advice), "%s names another port", option);
    cli_doctor_add(doctor, "ports", CLI_DOCTOR_NOTE, advice, "%u is taken (%s): %s", port, what,
                   why.text);
}

// ---- certificates

static void
certificate_check(cli_doctor *doctor, const char *folder)
{
    oct_reason why;
    oct_role role;
    int64_t ends_s;
    if (net_certificates_check(folder, &role, &ends_s, &why) != OCT_OK) {
        cli_doctor_add(doctor, "certificates", CLI_DOCTOR_FAIL, "", "%s", why.text);
        return;
    }
    double days = ((double)ends_s - (double)time(NULL)) / SECONDS_A_DAY;
    bool is_soon = days < SOON_DAYS;
    cli_doctor_add(doctor, "certificates", is_soon ? CLI_DOCTOR_WARN : CLI_DOCTOR_OK,
                   is_soon ? "octet certs issue --renew ROLE NAME makes another" : "",
                   "%s: role %s, valid for %.0f more days", folder, oct_role_name(role), days);
}

// Checks the folder of a CA. A user who can read its key can pose as any daemon.
static void
ca_check(cli_doctor *doctor, const char *folder)
{
    char path[CLI_PATH_MAX + 280];
    struct stat key;
    (void)snprintf(path, sizeof(path), "%s/ca.key", folder);
    if (oct_file_stat(path, &key) == 0 && (key.st_mode & 077) != 0) {
        cli_doctor_add(doctor, "certificates", CLI_DOCTOR_FAIL,
                       "chmod 600, and make a new CA if those users are not trusted",
                       "%s: other users can read or write the key of the CA (mode %04o)", path,
                       (unsigned)(key.st_mode & 07777));
    }
    DIR *all = oct_file_open_entries(folder);
    const struct dirent *entry;
    while (all != NULL && (entry = readdir(all)) != NULL) {
        (void)snprintf(path, sizeof(path), "%s/%s/node.crt", folder, entry->d_name);
        if (entry->d_name[0] != '.' && oct_file_is_there(path)) {
            (void)snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
            certificate_check(doctor, path);
        }
    }
    if (all != NULL) {
        (void)closedir(all);
    }
}

// Checks the CA folder or the certificate that was named, or the CA folder of octet certs if it is
// in the current folder.
static void
certificates_check(cli_doctor *doctor)
{
    const char *folder = doctor->tls != NULL ? doctor->tls : CA_FOLDER;
    char ca[CLI_PATH_MAX + 16];
    (void)snprintf(ca, sizeof(ca), "%s/issued.pem", folder);
    if (oct_file_is_there(ca)) {
        ca_check(doctor, folder);
    } else if (doctor->tls != NULL) {
        certificate_check(doctor, folder);
    } else {
        cli_doctor_add(doctor, "certificates", CLI_DOCTOR_NOTE, "",
                       "none are named (--tls, OCTET_TLS): a run on this machine needs none");
    }
}

void
cli_doctor_network(cli_doctor *doctor)
{
    socket_check(doctor);
    port_check(doctor, CLI_DASH_PORT, "octet dash", "octet dash --port");
    port_check(doctor, CLI_CLUSTER_PORT, "octet cluster, the learner", "octet cluster --port");
    port_check(doctor, CLI_CLUSTER_PORT + CLI_CLUSTER_PORT_REPLAY, "octet cluster, replay",
               "octet cluster --port");
    certificates_check(doctor);
}
