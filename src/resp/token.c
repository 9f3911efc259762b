/*
 * token.c
 *		The token that stands for the role of pg_local_cache.role.
 *
 * It is the content of a file, without one line feed at its end.  The file is
 * held to what the server demands of a private key: only its own user or root may
 * have written it, and nobody else may read it.  What is looked at is the file that
 * was opened and not its name, so the two cannot be different ones; and opening
 * does not wait, as it would for a named pipe.
 *
 * The token is kept beside zeros in a fixed number of bytes.  What a client sends
 * is laid out in the same way, and all bytes are compared, so that the time tells
 * neither where the two differ nor how long the right one is.
 *
 * Private to the process, so there is nothing to lock.  No error is raised: a
 * worker reads the file between transactions.
 */
#include "postgres.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "guc.h"
#include "resp/auth.h"
#include "resp/auth_internal.h"
#include "resp/worker.h"

/* 32 bytes in hexadecimal are 128 bits; nobody guesses that. */
#define TOKEN_MIN	32

/* More than any generator makes, and soon compared. */
#define TOKEN_MAX	1024

typedef struct Token
{
	size_t		len;			/* 0: none */
	char		bytes[TOKEN_MAX];	/* then zeros */
} Token;

/* Why a file is no good. */
typedef struct Fault
{
	char		what[128];
	const char *hint;
} Fault;

static Token current;
static char problem[256];		/* of the file, when it was last read; or empty */

static bool
refuse(Fault *fault, const char *hint, const char *what)
{
	strlcpy(fault->what, what, sizeof(fault->what));
	fault->hint = hint;
	return false;
}

static bool
refuse_for_system(Fault *fault)
{
	return refuse(fault, "The user that the server runs as must be able to read it.", strerror(errno));
}

/* A file of our own is for us alone; one of root may be there for a group that we are in. */
static bool
is_private(int fd, Fault *fault)
{
	struct stat st;
	mode_t		others;

	if (fstat(fd, &st) != 0)
		return refuse_for_system(fault);
	if (!S_ISREG(st.st_mode))
		return refuse(fault, "Write the token into a regular file.", "it is not a regular file");
	if (st.st_uid != geteuid() && st.st_uid != 0)
		return refuse(fault, "Give it to the user that the server runs as.",
					 "it belongs neither to the user that the server runs as nor to root");
	others = st.st_uid == 0 ? (S_IWGRP | S_IXGRP | S_IRWXO) : (S_IRWXG | S_IRWXO);
	if ((st.st_mode & others) != 0)
		return refuse(fault, "Set its mode to 0600, or to 0640 if it belongs to root.",
					 "others than its owner have access to it");
	return true;
}

/* Bytes read, at most as many as there is room for; -1 after an error. */
static ssize_t
read_all(int fd, char *bytes, size_t room)
{
	size_t		len = 0;
	ssize_t		got;

	while (len < room && (got = read(fd, bytes + len, room - len)) != 0)
	{
		if (got < 0 && errno != EINTR)
			return -1;
		if (got > 0)
			len += got;
	}
	return len;
}

static size_t
without_line_end(const char *bytes, size_t len)
{
	if (len > 0 && bytes[len - 1] == '\n')
		len--;
	if (len > 0 && bytes[len - 1] == '\r')
		len--;
	return len;
}

static bool
read_token(int fd, Token *token, Fault *fault)
{
	static const char hint[] = "\"openssl rand -hex 32\" makes a good token.";
	char		bytes[TOKEN_MAX + 3];	/* so much that too much shows, line end or not */
	ssize_t		len = read_all(fd, bytes, sizeof(bytes));

	if (len < 0)
		return refuse_for_system(fault);
	len = without_line_end(bytes, len);
	if (len >= TOKEN_MIN && len <= TOKEN_MAX)
	{
		memset(token, 0, sizeof(*token));
		memcpy(token->bytes, bytes, len);
		token->len = len;
	}
	explicit_bzero(bytes, sizeof(bytes));

	if (len < TOKEN_MIN)
	{
		char		message[64];

		snprintf(message, sizeof(message), "its %d bytes are less than %d", (int) len, TOKEN_MIN);
		return refuse(fault, hint, message);
	}
	return len <= TOKEN_MAX ||
		refuse(fault, hint, "it has more than " CppAsString2(TOKEN_MAX) " bytes");
}

/* A relative path starts at the data directory, which is where every process of the server is. */
static bool
read_file(const char *path, Token *token, Fault *fault)
{
	int			fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	bool		good;

	if (fd < 0)
		return refuse_for_system(fault);
	good = is_private(fd, fault) && read_token(fd, token, fault);
	close(fd);
	return good;
}

/* To health(), and to the log by one worker: all read the same file. */
static void
report(const Fault *fault)
{
	snprintf(problem, sizeof(problem), "cannot use token file \"%s\": %s",
			 plc_guc_token_file, fault->what);
	ereport(plc_my_number == 0 ? WARNING : DEBUG1,
			(errcode(ERRCODE_CONFIG_FILE_ERROR),
			 errmsg("%s", problem),
			 current.len > 0 ?
			 errdetail("The token that was read before stays in force.") :
			 errdetail("No token is accepted."),
			 errhint("%s", fault->hint)));
}

void
plc_auth_load_token(void)
{
	Token		token;
	Fault		fault;

	problem[0] = '\0';
	if (!plc_auth_token_required())
		explicit_bzero(&current, sizeof(current));
	else if (read_file(plc_guc_token_file, &token, &fault))
	{
		memcpy(&current, &token, sizeof(current));
		explicit_bzero(&token, sizeof(token));
	}
	else
		report(&fault);
}

const char *
plc_auth_token_problem(void)
{
	return problem[0] == '\0' ? NULL : problem;
}

bool
plc_auth_token_required(void)
{
	return plc_guc_token_file != NULL && plc_guc_token_file[0] != '\0';
}

bool
plc_token_matches(const char *bytes, size_t len)
{
	Token		token;
	bool		equal;

	memset(&token, 0, sizeof(token));
	token.len = len;
	memcpy(token.bytes, bytes, Min(len, TOKEN_MAX));
	equal = timingsafe_bcmp(&token, &current, sizeof(token)) == 0;
	explicit_bzero(&token, sizeof(token));
	return equal && current.len > 0;
}
