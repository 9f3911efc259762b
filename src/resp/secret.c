/*
 * secret.c
 *		Roles' passwords, as pg_authid keeps them.
 *
 * A SCRAM secret has a salt, a number of rounds and two keys made from the
 * stretched password; the one that a server proves itself with is compared, as
 * the server does with a password in plain text.  An MD5 secret is left to the
 * server.  A role that does not exist, that has no password or an expired one is
 * given as many rounds as a usual secret has, with a salt made up, so that the time
 * does not tell which it was; and so is one with an MD5 secret, which would
 * otherwise stand out by being fast.  What stays visible is a secret with an unusual
 * number of rounds.
 *
 * The catalogs are asked through the server's caches, after taking in what other
 * sessions have changed.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_authid.h"
#include "common/base64.h"
#include "libpq/crypt.h"
#include "utils/builtins.h"
#include "utils/inval.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"

#include "compat.h"
#include "resp/auth_internal.h"

/* Longer ones are wrong.  The server itself takes a thousand bytes from a client. */
#define PASSWORD_MAX	1024

/* A secret's parts */
typedef struct Scram
{
	int			rounds;
	const uint8 *salt;
	int			salt_len;
	uint8		stored_key[PG_SHA256_DIGEST_LENGTH];
	uint8		server_key[PG_SHA256_DIGEST_LENGTH];
} Scram;

static bool
parse(const char *text, Scram *scram)
{
	char	   *encoded;
	void	   *salt;			/* of char, or uint8 from 18 on */
	int			len;

	if (!plc_parse_scram_secret(text, &scram->rounds, &encoded, scram->stored_key, scram->server_key))
		return false;
	len = pg_b64_dec_len(strlen(encoded));
	salt = palloc(len);
	scram->salt = salt;
	scram->salt_len = pg_b64_decode(encoded, strlen(encoded), salt, len);
	return scram->salt_len >= 0;
}

static void
make_up(Scram *scram)
{
	static const uint8 salt[16];

	scram->rounds = plc_scram_usual_rounds();
	scram->salt = salt;
	scram->salt_len = sizeof(salt);
}

/* Names and passwords of the server are strings of C. */
static bool
is_string(const char *bytes, size_t len, size_t max)
{
	return len > 0 && len <= max && memchr(bytes, '\0', len) == NULL;
}

static const char *
find_problem(HeapTuple tuple, PlcSecret *secret)
{
	bool		null;
	Datum		value = SysCacheGetAttr(AUTHNAME, tuple, Anum_pg_authid_rolvaliduntil, &null);

	if (!null && DatumGetTimestampTz(value) < GetCurrentTimestamp())
		return "the password has expired";
	value = SysCacheGetAttr(AUTHNAME, tuple, Anum_pg_authid_rolpassword, &null);
	if (null)
		return "the role has no password";
	secret->text = TextDatumGetCString(value);
	secret->role = ((Form_pg_authid) GETSTRUCT(tuple))->oid;
	return NULL;
}

const char *
plc_secret_find(const PlcClaim *claim, PlcSecret *secret)
{
	HeapTuple	tuple = NULL;
	const char *problem = "the role does not exist";

	secret->role = InvalidOid;
	secret->text = "";
	AcceptInvalidationMessages();
	if (is_string(claim->name, claim->name_len, NAMEDATALEN - 1))
		tuple = SearchSysCache1(AUTHNAME, PointerGetDatum(pnstrdup(claim->name, claim->name_len)));
	if (HeapTupleIsValid(tuple))
	{
		problem = find_problem(tuple, secret);
		ReleaseSysCache(tuple);
	}
	return problem;
}

/* The password as a string of C; "" if it cannot be one.  To be given to forget. */
static char *
password_of(const PlcClaim *claim)
{
	if (!is_string(claim->password, claim->password_len, PASSWORD_MAX))
		return pstrdup("");
	return pnstrdup(claim->password, claim->password_len);
}

static void
forget(char *password)
{
	explicit_bzero(password, strlen(password));
	pfree(password);
}

void
plc_secret_begin(const PlcSecret *secret, const PlcClaim *claim, PlcStretch *stretch)
{
	Scram		scram;
	char	   *password;

	if (!parse(secret->text, &scram))
		make_up(&scram);
	password = password_of(claim);
	plc_stretch_begin(stretch, password, scram.salt, scram.salt_len, scram.rounds);
	forget(password);
}

static bool
scram_proven(const PlcSecret *secret, const PlcStretch *stretch)
{
	Scram		scram;
	uint8		key[PG_SHA256_DIGEST_LENGTH];

	if (!parse(secret->text, &scram))
		return false;
	plc_stretch_server_key(stretch, key);
	return timingsafe_bcmp(key, scram.server_key, sizeof(key)) == 0;
}

static bool
md5_proven(const PlcSecret *secret, const PlcClaim *claim)
{
	char	   *name = pnstrdup(claim->name, claim->name_len);
	char	   *password = password_of(claim);
	const char *ignored = NULL;
	bool		proven = plain_crypt_verify(name, secret->text, password, &ignored) == STATUS_OK;

	forget(password);
	return proven;
}

bool
plc_secret_proven(const PlcSecret *secret, const PlcClaim *claim, const PlcStretch *stretch)
{
	if (!OidIsValid(secret->role) ||
		!is_string(claim->password, claim->password_len, PASSWORD_MAX))
		return false;
	switch (get_password_type(secret->text))
	{
		case PASSWORD_TYPE_SCRAM_SHA_256:
			return scram_proven(secret, stretch);
		case PASSWORD_TYPE_MD5:
			return md5_proven(secret, claim);
		default:
			return false;
	}
}
