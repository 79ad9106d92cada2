/*
 * Keeps containers of one network apart where the engine does not: each closes its own way to the others, and out of the network where nothing outside is to
 * be reached. The gateway (the engine's machine) is left. Nobody inside can undo it: the capability is given up when it is done, and commands never have it.
 */
#define _GNU_SOURCE
#include "warden.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/capability.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { ROUTES = 32 };

/* A route; addresses as they are on the wire. Without a next hop it leads to a network that the interface is on. */
struct way {
    int interface;
    uint32_t destination, mask, hop;
};

struct message {
    struct nlmsghdr head;
    struct rtmsg route;
    char attributes[64];
};

static int ways(struct way *found) {
    char line[256], name[IF_NAMESIZE];
    int count = 0;
    FILE *table = fopen("/proc/net/route", "re");
    while (table && count < ROUTES && fgets(line, sizeof line, table)) {
        unsigned destination, hop, mask;
        if (sscanf(line, "%15s %x %x %*x %*d %*d %*d %x", name, &destination, &hop, &mask) != 4) continue;
        if (mask == UINT32_MAX) continue;
        found[count] = (struct way){if_nametoindex(name), destination, mask, hop};
        count += found[count].interface != 0;
    }
    if (table) fclose(table);
    return count;
}

static void attach(struct message *message, int kind, const void *value, size_t size) {
    struct rtattr *attribute = (struct rtattr *)((char *)message + NLMSG_ALIGN(message->head.nlmsg_len));
    attribute->rta_type = kind;
    attribute->rta_len = RTA_LENGTH(size);
    memcpy(RTA_DATA(attribute), value, size);
    message->head.nlmsg_len = NLMSG_ALIGN(message->head.nlmsg_len) + RTA_ALIGN(attribute->rta_len);
}

/* Change one route; 0, or the error's number. */
static int change(int kernel, int what, int type, uint32_t destination, int length, int interface) {
    struct message message = {.head = {.nlmsg_len = NLMSG_LENGTH(sizeof(struct rtmsg)), .nlmsg_type = what, .nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK}};
    struct { struct nlmsghdr head; struct nlmsgerr error; char rest[256]; } answer;
    if (what == RTM_NEWROUTE) message.head.nlmsg_flags |= NLM_F_CREATE | NLM_F_REPLACE;
    message.route = (struct rtmsg){.rtm_family = AF_INET, .rtm_dst_len = length, .rtm_table = RT_TABLE_MAIN, .rtm_type = type};
    message.route.rtm_protocol = what == RTM_NEWROUTE ? RTPROT_STATIC : RTPROT_UNSPEC;
    message.route.rtm_scope = what == RTM_DELROUTE ? RT_SCOPE_NOWHERE : type == RTN_UNICAST ? RT_SCOPE_LINK : RT_SCOPE_UNIVERSE;
    attach(&message, RTA_DST, &destination, sizeof destination);
    if (interface) attach(&message, RTA_OIF, &interface, sizeof interface);
    if (send(kernel, &message, message.head.nlmsg_len, 0) < 0) return errno;
    if (recv(kernel, &answer, sizeof answer, 0) < (ssize_t)NLMSG_LENGTH(sizeof answer.error) || answer.head.nlmsg_type != NLMSG_ERROR) return EPROTO;
    return -answer.error.error;
}

static int close_off(int kernel, const struct way *way, uint32_t gateway) {
    int length = __builtin_popcount(way->mask), number = 0;
    if (!way->hop && (gateway & way->mask) == way->destination) number = change(kernel, RTM_NEWROUTE, RTN_UNICAST, gateway, 32, way->interface);
    if (!number) number = change(kernel, RTM_DELROUTE, RTN_UNICAST, way->destination, length, way->interface);
    if (!number && !way->hop) number = change(kernel, RTM_NEWROUTE, RTN_UNREACHABLE, way->destination, length, 0);
    return number;
}

static void give_up_capability(void) {
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct sets[2];
    prctl(PR_CAPBSET_DROP, CAP_NET_ADMIN, 0, 0, 0);
    if (syscall(SYS_capget, &head, sets)) return;
    uint32_t others = ~(uint32_t)(1u << CAP_NET_ADMIN);
    sets[0].effective &= others;
    sets[0].permitted &= others;
    sets[0].inheritable &= others;
    syscall(SYS_capset, &head, sets);
}

/* 0, or the error's number. Closed: ways that lead on from the gateway go too. */
int fence(const char *gateway, bool closed) {
    struct way found[ROUTES];
    struct in_addr address;
    if (!inet_aton(gateway, &address)) return EINVAL;
    int kernel = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE), number = kernel < 0 ? errno : 0;
    int count = ways(found);
    if (!number && !count) number = ENETUNREACH;
    for (int i = 0; i < count && !number; i++)
        if (closed || !found[i].hop) number = close_off(kernel, &found[i], address.s_addr);
    if (kernel >= 0) close(kernel);
    give_up_capability();
    return number;
}
