/*
 * stretch.c
 *		PBKDF2 with HMAC-SHA-256, in slices.
 *
 * This is what SCRAM (RFC 5802, RFC 7677) calls Hi(): the password is the key of
 * an HMAC, its first message is the salt, each further one the digest before, and
 * all digests are xored.  The server computes it in one go, which with the usual
 * 4096 rounds takes some milliseconds.  A worker has other clients, so here it is
 * done a slice at a time.  The slices have a number of rounds and not a time, so
 * that how many there are says nothing of the machine's load.
 *
 * The server's own HMAC is used.  Such a thing cannot be kept from one transaction
 * to the next, for the server would take it for a leak; but a new one costs less
 * than one of its rounds.
 */
#include "postgres.h"

#include "common/cryptohash.h"
#include "common/hmac.h"
#include "common/saslprep.h"

#include "resp/auth_internal.h"

/* 0.8 us each with OpenSSL 3 on a processor that has instructions for SHA-256, twice that on others */
#define ROUNDS_A_SLICE	100

static pg_hmac_ctx *
make_hmac(void)
{
	pg_hmac_ctx *hmac = pg_hmac_create(PG_SHA256);

	if (hmac == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OUT_OF_MEMORY),
				 errmsg("out of memory")));
	return hmac;
}

/* Also tells of its failure. */
static void
free_hmac(pg_hmac_ctx *hmac, bool good)
{
	pg_hmac_free(hmac);
	if (!good)
		ereport(ERROR,
				(errcode(ERRCODE_INTERNAL_ERROR),
				 errmsg("could not compute HMAC-SHA-256")));
}

static bool
compute(pg_hmac_ctx *hmac, const uint8 *key, int key_len, const PlcPart *parts, int nparts,
		uint8 *digest)
{
	if (pg_hmac_init(hmac, key, key_len) < 0)
		return false;
	for (int i = 0; i < nparts; i++)
		if (pg_hmac_update(hmac, parts[i].data, parts[i].len) < 0)
			return false;
	return pg_hmac_final(hmac, digest, PG_SHA256_DIGEST_LENGTH) >= 0;
}

void
plc_hmac(const uint8 *key, int key_len, const PlcPart *parts, int nparts,
		 uint8 digest[PG_SHA256_DIGEST_LENGTH])
{
	pg_hmac_ctx *hmac = make_hmac();

	free_hmac(hmac, compute(hmac, key, key_len, parts, nparts, digest));
}

/* HMAC's rule for keys longer than a block */
static void
hash_key(PlcStretch *stretch, const char *password, size_t len)
{
	pg_cryptohash_ctx *hash = pg_cryptohash_create(PG_SHA256);
	bool		failed = hash == NULL ||
		pg_cryptohash_init(hash) < 0 ||
		pg_cryptohash_update(hash, (const uint8 *) password, len) < 0 ||
		pg_cryptohash_final(hash, stretch->key, PG_SHA256_DIGEST_LENGTH) < 0;

	if (hash != NULL)
		pg_cryptohash_free(hash);
	if (failed)
		ereport(ERROR,
				(errcode(ERRCODE_INTERNAL_ERROR),
				 errmsg("could not compute SHA-256")));
	stretch->key_len = PG_SHA256_DIGEST_LENGTH;
}

static void
set_key(PlcStretch *stretch, const char *password)
{
	size_t		len = strlen(password);

	if (len > sizeof(stretch->key))
		hash_key(stretch, password, len);
	else
	{
		memcpy(stretch->key, password, len);
		stretch->key_len = len;
	}
}

/* As the server does it when a password is set: what SASLprep does not take is used as it is. */
static void
set_prepared_key(PlcStretch *stretch, const char *password)
{
	char	   *prepared = NULL;

	if (pg_saslprep(password, &prepared) != SASLPREP_SUCCESS)
	{
		set_key(stretch, password);
		return;
	}
	set_key(stretch, prepared);
	explicit_bzero(prepared, strlen(prepared));
	pfree(prepared);
}

void
plc_stretch_begin(PlcStretch *stretch, const char *password,
				  const uint8 *salt, int salt_len, int rounds)
{
	static const uint8 first_block[4] = {0, 0, 0, 1};
	PlcPart		parts[2] = {{salt, salt_len}, {first_block, sizeof(first_block)}};

	set_prepared_key(stretch, password);
	plc_hmac(stretch->key, stretch->key_len, parts, lengthof(parts), stretch->last);
	memcpy(stretch->sum, stretch->last, sizeof(stretch->sum));
	stretch->left = rounds - 1;
}

static bool
do_round(PlcStretch *stretch, pg_hmac_ctx *hmac)
{
	PlcPart		part = {stretch->last, sizeof(stretch->last)};

	if (!compute(hmac, stretch->key, stretch->key_len, &part, 1, stretch->last))
		return false;
	for (int i = 0; i < PG_SHA256_DIGEST_LENGTH; i++)
		stretch->sum[i] ^= stretch->last[i];
	return true;
}

bool
plc_stretch_go_on(PlcStretch *stretch)
{
	int			rounds = Min(stretch->left, ROUNDS_A_SLICE);
	pg_hmac_ctx *hmac = make_hmac();
	bool		good = true;

	for (int i = 0; i < rounds && good; i++)
		good = do_round(stretch, hmac);
	free_hmac(hmac, good);
	stretch->left -= rounds;
	return stretch->left <= 0;
}

void
plc_stretch_server_key(const PlcStretch *stretch, uint8 key[PG_SHA256_DIGEST_LENGTH])
{
	static const char purpose[] = "Server Key";
	PlcPart		part = {purpose, sizeof(purpose) - 1};

	plc_hmac(stretch->sum, sizeof(stretch->sum), &part, 1, key);
}
