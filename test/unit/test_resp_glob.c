/*
 * test_resp_glob.c
 *		Patterns as in Redis; test_resp_cost.c is about the time they take.
 */
#include <stdlib.h>
#include <string.h>

#include "guard.h"
#include "resp/codec.h"
#include "tap.h"

static Guard pattern_guard;
static Guard text_guard;

static bool
matches(const char *pattern, size_t pattern_len, const char *text, size_t text_len)
{
	return plc_glob_match(guard_put(&pattern_guard, pattern, pattern_len), pattern_len,
						  guard_put(&text_guard, text, text_len), text_len);
}

static void
check(const char *pattern, const char *text, bool should)
{
	tap_ok(matches(pattern, strlen(pattern), text, strlen(text)) == should, "%s %s %s", pattern,
		   should ? "matches" : "does not match", text);
}

static const char *const same[][2] = {
	{"", ""}, {"*", ""}, {"**", ""}, {"*", "anything"}, {"abc", "abc"}, {"a?c", "abc"}, {"?", "*"}, {"a*", "a"},
	{"*a", "a"}, {"*a", "ba"}, {"a*c", "abbbc"}, {"a*b*c", "axxbyyc"}, {"*ab", "aab"}, {"*aab", "aaaab"},
	{"a*?", "ab"}, {"h[ae]llo", "hallo"}, {"h[^e]llo", "hallo"}, {"h[a-b]llo", "hbllo"}, {"h[b-a]llo", "hallo"},
	{"[a-c]*[x-z]", "bqqqy"}, {"\\*", "*"}, {"\\?", "?"}, {"\\[a]", "[a]"}, {"\\a", "a"}, {"\\\\", "\\"},
	{"\\", "\\"}, {"[\\]]", "]"}, {"[\\^]", "^"}, {"[a\\-z]", "-"}, {"[-a]", "-"}, {"[a-]", "-"}, {"[a-]", "a"},
	{"[a", "a"}, {"[^", "x"}, {"[^]", "x"}, {"[a-c", "b"}, {"[\\", "\\"}, {"x]", "x]"}, {"items:*", "items:42"},
	{"*[0-9]", "items:42"}, {"*[^a-z]", "items:42"}, {"a**b", "ab"}, {"*?*?*", "ab"},
};

static const char *const different[][2] = {
	{"", "a"}, {"a", ""}, {"?", ""}, {"??", "a"}, {"abc", "abd"}, {"abc", "abcd"}, {"abcd", "abc"}, {"a*c", "ab"},
	{"a*c", "abcd"}, {"*?", ""}, {"h[ae]llo", "hillo"}, {"h[^e]llo", "hello"}, {"[a-b]", "c"}, {"[]", "a"}, {"[]", ""},
	{"[a", "b"}, {"[", "["}, {"[", ""}, {"\\*", "a"}, {"\\", ""}, {"A", "a"}, {"[a-c]", "B"}, {"*a*b", "ba"},
	{"[a\\-z]", "b"}, {"*[0-9]", "42x"}, {"*?*?*", "a"},
};

/* Against the obvious recursion, over all short patterns and texts of a few bytes. */

static bool
obvious(const char *pattern, const char *text)
{
	if (*pattern == '\0')
		return *text == '\0';
	if (*pattern == '*')
		return obvious(pattern + 1, text) || (*text != '\0' && obvious(pattern, text + 1));
	return *text != '\0' && (*pattern == '?' || *pattern == *text) && obvious(pattern + 1, text + 1);
}

static void
spell(char *word, unsigned n, const char *letters)
{
	for (; n > 0; n /= (unsigned) strlen(letters) + 1)
	{
		unsigned	letter = n % ((unsigned) strlen(letters) + 1);

		if (letter > 0)
			*word++ = letters[letter - 1];
	}
	*word = '\0';
}

static void
test_all(void)
{
	int			wrong = 0;

	for (unsigned p = 0; p < 3125; p++)
	{
		for (unsigned t = 0; t < 729; t++)
		{
			char		pattern[16];
			char		text[16];

			spell(pattern, p, "ab*?");
			spell(text, t, "ab");
			wrong += plc_glob_match(pattern, strlen(pattern), text, strlen(text)) != obvious(pattern, text);
		}
	}
	tap_is(wrong, 0, "all patterns of up to 5 and texts of up to 6 bytes match as they should");
}

int
main(void)
{
	pattern_guard = guard_new(1);
	text_guard = guard_new(1);
	for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++)
		check(same[i][0], same[i][1], true);
	for (size_t i = 0; i < sizeof(different) / sizeof(different[0]); i++)
		check(different[i][0], different[i][1], false);
	tap_ok(matches("a\0*", 3, "a\0b", 3) && !matches("a\0b", 3, "a\0c", 3), "a zero byte is a byte like any");
	tap_ok(matches("[\x80-\xff]", 5, "\xc3", 1) && !matches("[\x80-\xff]", 5, "a", 1), "bytes have no sign");
	test_all();
	return tap_done();
}
