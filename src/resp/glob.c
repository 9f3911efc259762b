/*
 * glob.c
 *		Patterns of SCAN and CONFIG GET: *, ?, [a-z], [^a] and \.
 *
 * Everything but a star matches one byte.  So if what follows a star cannot be
 * matched, only the last star need take one byte more: what stars before it took
 * is settled, since giving them more would only leave less for the last.  That is
 * at most the product of both lengths, where the obvious recursion is exponential
 * in the number of stars.
 *
 * As in Redis, a class that is not closed ends with the pattern, "[z-a]" is "[a-z]",
 * and a backslash at the end stands for itself.
 */
#include "resp/codec.h"

typedef struct Pattern
{
	const unsigned char *at;
	const unsigned char *end;
} Pattern;

/* The byte at hand, or the one that a backslash quotes; moves behind it. */
static unsigned char
take_byte(Pattern *pattern)
{
	if (*pattern->at == '\\' && pattern->end - pattern->at > 1)
		pattern->at++;
	return *pattern->at++;
}

/* Is c in the class whose bracket was just taken?  Moves behind the class. */
static bool
match_class(Pattern *pattern, unsigned char c)
{
	bool		negated = pattern->at < pattern->end && *pattern->at == '^';
	bool		found = false;

	if (negated)
		pattern->at++;
	while (pattern->at < pattern->end && *pattern->at != ']')
	{
		unsigned char low;
		unsigned char high;

		low = high = take_byte(pattern);
		if (pattern->end - pattern->at > 1 && pattern->at[0] == '-' && pattern->at[1] != ']')
		{
			pattern->at++;
			high = take_byte(pattern);
		}
		if ((low <= c && c <= high) || (high <= c && c <= low))
			found = true;
	}
	if (pattern->at < pattern->end)
		pattern->at++;
	return found != negated;
}

/* Does the next piece of the pattern, which is no star, match c?  Moves behind it. */
static bool
match_one(Pattern *pattern, unsigned char c)
{
	if (*pattern->at == '?' || *pattern->at == '[')
		return *pattern->at++ == '?' || match_class(pattern, c);
	return take_byte(pattern) == c;
}

bool
plc_glob_match(const char *pattern, size_t pattern_len, const char *text, size_t text_len)
{
	Pattern		at = {(const unsigned char *) pattern, (const unsigned char *) pattern + pattern_len};
	Pattern		star = {NULL, NULL};	/* behind the last star */
	size_t		star_text = 0;	/* what it leaves begins here */
	size_t		i = 0;

	while (i < text_len || at.at < at.end)
	{
		if (at.at < at.end && *at.at == '*')
		{
			at.at++;
			star = at;
			star_text = i;
		}
		else if (i < text_len && at.at < at.end && match_one(&at, (unsigned char) text[i]))
			i++;
		else if (star.at != NULL && star_text < text_len)
		{
			at = star;
			i = ++star_text;
		}
		else
			return false;
	}
	return true;
}
