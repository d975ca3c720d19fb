/* A part of the agent's rules (perfscope_agent/secrets/tokens.py, names.py), for texts of a few characters. */
#include "secrets.h"

#include <stdbool.h>
#include <string.h>

#define REDACTED "[redacted]"
#define LEAST_TOKEN 4u   /* behind the beginning; the kernel cuts the names of threads at 15 characters */
#define LEAST_PIECES 3u
#define LEAST_RANDOM 12u

static const char *const beginnings[] = {
    "ghp_", "gho_", "ghs_", "ghu_", "ghr_", "github_pat_", "glpat-", "gldt-", "glft-", "glptt-", "glrt-", "glcbt-",
    "glimt-", "gloas-", "glsoat-", "glffct-", "glagent-", "GR1348941", "shpat_", "shpca_", "shppa_", "shpss_",
    "shpua_", "dop_v1_", "doo_v1_", "dor_v1_", "sk-", "sk_live_", "sk_test_", "sk_prod_", "rk_live_", "rk_test_",
    "rk_prod_", "pk_live_", "whsec_", "xoxa-", "xoxb-", "xoxe-", "xoxo-", "xoxp-", "xoxr-", "xoxs-", "xoxc-",
    "xoxd-", "xapp-", "hf_", "api_org_", "npm_", "pypi-", "rubygems_", "AIza", "GOCSPX-", "ya29.", "glsa_", "glc_",
    "pul-", "pnu_", "pplx-", "gsk_", "r8_", "tfp_", "rdme_", "ntn_", "lin_api_", "sntrys_", "sntryu_",
    "pscale_tkn_", "pscale_pw_", "pscale_oauth_", "dapi", "ico-", "fio-u-", "shippo_live_", "shippo_test_",
    "duffel_live_", "duffel_test_", "sq0atp-", "sq0csp-", "FLWSECK_TEST-", "FLWSECK-", "PMAK-", "NRAK-", "NRII-",
    "NRJS-", "key-", "tk-us-", "sbp_", "sgp_", "HRKU-", "xkeysib-", "ATATT3", "ATCTT3", "ATBB", "AKCp", "LTAI",
    "EZAK", "EZTK", "ABSK", "CLOJARS_", "sm_aat_", "sm_pat_", "sm_sat_", "dckr_pat_", "dckr_oat_", "dp.pt.",
    "dp.st.", "hvs.", "hvb.", "hvr.", "SG.", "fo1_", "fm2_", "nvapi-", "wandb_v1_", "p8e-", "AGE-SECRET-KEY-1",
    "tskey-", "cfat_", "vc_", "oy2", "API-", "figd_", "lip_", "ops_eyJ", "sl.B", "shp_", "tok_", "EAACEdEose0cBA",
};

static const char *const names[] = {"password", "passwd", "passphrase", "pass", "pwd", "pw",   "token", "secret", "key",
                                    "credential", "creds", "cred", "auth", "pin", "otp", "session", "sid", "jwt"};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_upper(char c)
{
    return c >= 'A' && c <= 'Z';
}

static bool is_lower(char c)
{
    return c >= 'a' && c <= 'z';
}

static bool is_word(char c)
{
    return is_digit(c) || is_upper(c) || is_lower(c);
}

static bool is_token(char c)
{
    return is_word(c) || c == '_' || c == '-' || c == '.';
}

static char lower(char c)
{
    return is_upper(c) ? (char)(c - 'A' + 'a') : c;
}

static size_t length_of(const char *text, bool (*belongs)(char))
{
    size_t length = 0;
    while (belongs(text[length]))
        length++;
    return length;
}

/* Runs of one kind of character; a capital before small letters begins a word. */
static size_t count_pieces(const char *text, size_t length)
{
    size_t pieces = length > 0;
    for (size_t i = 1; i < length; i++) {
        bool is_same = (is_digit(text[i]) && is_digit(text[i - 1])) || (is_upper(text[i]) && is_upper(text[i - 1])) ||
                       (is_lower(text[i]) && !is_digit(text[i - 1]));
        pieces += !is_same;
    }
    return pieces;
}

/* Whether one of the runs of letters and digits mixes them as keys do. */
static bool has_mixed_run(const char *text, size_t length)
{
    for (size_t at = 0; at < length; at++) {
        size_t run = length_of(text + at, is_word);
        if (run >= LEAST_TOKEN && count_pieces(text + at, run) >= LEAST_PIECES)
            return true;
        at += run;
    }
    return false;
}

/* The bytes of a service's token that begins here, 0 when none does. */
static size_t token_length(const char *text)
{
    for (size_t i = 0; i < sizeof beginnings / sizeof *beginnings; i++) {
        size_t begin = strlen(beginnings[i]);
        if (strncmp(text, beginnings[i], begin) != 0)
            continue;
        size_t length = length_of(text + begin, is_token);
        if (length >= LEAST_TOKEN && has_mixed_run(text + begin, length))
            return begin + length;
    }
    return 0;
}

static bool names_secret(const char *text, size_t length)
{
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t bytes = strlen(names[i]), same = 0;
        if (bytes > length || (bytes < length && is_word(text[length - bytes - 1])))
            continue;
        while (same < bytes && lower(text[length - bytes + same]) == names[i][same])
            same++;
        if (same == bytes)
            return true;
    }
    return false;
}

static bool is_number(const char *text)
{
    return text[length_of(text, is_digit)] == '\0';
}

/* The place of what is secret: *length bytes of it; NULL when there is none. */
static char *find_secret(char *text, size_t *length)
{
    for (char *at = text; *at; at++) {
        if (at == text || !is_word(at[-1])) {
            *length = token_length(at);
            if (*length)
                return at;
        }
        bool is_named = (*at == '=' || *at == ':') && at[1] && at[1] != ':' && at[1] != '[';
        if (is_named && names_secret(text, (size_t)(at - text)) && !is_number(at + 1)) {
            *length = strlen(at + 1);
            return at + 1;
        }
    }
    return NULL;
}

static bool is_random(const char *text)
{
    size_t length = length_of(text, is_word);
    bool digits = strpbrk(text, "0123456789") != NULL, capitals = false, small = false;
    for (size_t i = 0; i < length; i++) {
        capitals |= is_upper(text[i]);
        small |= is_lower(text[i]);
    }
    return text[length] == '\0' && length >= LEAST_RANDOM && digits && capitals && small &&
           count_pieces(text, length) * 5 > length * 2;
}

static void replace(char *text, size_t bytes, char *place, size_t length)
{
    char rest[4096];
    size_t room = bytes - 1 - (size_t)(place - text);
    size_t tail = strlen(place + length);
    if (tail >= sizeof rest)
        tail = sizeof rest - 1;
    memcpy(rest, place + length, tail);
    size_t mark = strlen(REDACTED) < room ? strlen(REDACTED) : room;
    memcpy(place, REDACTED, mark);
    if (tail > room - mark)
        tail = room - mark;
    memcpy(place + mark, rest, tail);
    place[mark + tail] = '\0';
}

void ps_redact(char *text, size_t bytes)
{
    size_t length;
    char *from = text, *found;
    while ((found = find_secret(from, &length))) {
        replace(text, bytes, found, length);
        from = found + (strlen(found) < strlen(REDACTED) ? strlen(found) : strlen(REDACTED));
    }
    if (from == text && is_random(text))
        replace(text, bytes, text, strlen(text));
}
