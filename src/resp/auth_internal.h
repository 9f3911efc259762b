/*
 * auth_internal.h
 *		What auth.c uses of token.c, secret.c and stretch.c.
 */
#ifndef PLC_RESP_AUTH_INTERNAL_H
#define PLC_RESP_AUTH_INTERNAL_H

#include "common/sha2.h"

/* token.c: is it the token?  Takes the same time whatever the answer. */
extern bool plc_token_matches(const char *token, size_t len);

/*
 * stretch.c: a password made into a key by many rounds of HMAC-SHA-256, a slice of
 * them at a time.  All in one piece without pointers, so that wiping it is enough.
 * Each raises an error if the server's cryptography fails.
 */
typedef struct PlcStretch
{
	uint8		key[PG_SHA256_BLOCK_LENGTH];	/* of the HMAC: the password, or its hash if it is longer */
	int			key_len;
	uint8		last[PG_SHA256_DIGEST_LENGTH];	/* of the last round */
	uint8		sum[PG_SHA256_DIGEST_LENGTH];	/* of all rounds; in the end the salted password */
	int			left;			/* rounds */
} PlcStretch;

extern void plc_stretch_begin(PlcStretch *stretch, const char *password,
							  const uint8 *salt, int salt_len, int rounds);

/* A slice of the rounds; are all of them done? */
extern bool plc_stretch_go_on(PlcStretch *stretch);

/* What a SCRAM secret holds for the right password. */
extern void plc_stretch_server_key(const PlcStretch *stretch, uint8 key[PG_SHA256_DIGEST_LENGTH]);

/* A part of a message. */
typedef struct PlcPart
{
	const void *data;
	size_t		len;
} PlcPart;

extern void plc_hmac(const uint8 *key, int key_len, const PlcPart *parts, int nparts,
					 uint8 digest[PG_SHA256_DIGEST_LENGTH]);

/*
 * secret.c: what somebody says to be, and what the catalogs know of that role.
 */
typedef struct PlcClaim
{
	const char *name;
	size_t		name_len;
	const char *password;
	size_t		password_len;
	const char *address;		/* of the client, for the log */
} PlcClaim;

/* InvalidOid and "" if there is a problem. */
typedef struct PlcSecret
{
	Oid			role;
	const char *text;			/* pg_authid.rolpassword, palloc'd */
} PlcSecret;

/*
 * The secret to prove the claim with.  If there can be none, returns why as a
 * constant, and a secret that nothing proves.
 */
extern const char *plc_secret_find(const PlcClaim *claim, PlcSecret *secret);

/* Begins the work that plc_secret_proven needs; as much of it if nothing can be proven. */
extern void plc_secret_begin(const PlcSecret *secret, const PlcClaim *claim, PlcStretch *stretch);

/* With that work done: is it the password of that secret? */
extern bool plc_secret_proven(const PlcSecret *secret, const PlcClaim *claim,
							  const PlcStretch *stretch);

#endif							/* PLC_RESP_AUTH_INTERNAL_H */
