# Databases of other encodings than UTF-8: bytes are theirs, and an escape is the character that it names.
use strict;
use warnings;

use PlcTest;
use PlcResp;
use Test::More;

my $sql = q(
	CREATE TABLE pages (path text PRIMARY KEY, title text);
	GRANT ALL ON pages TO app;
	SELECT local_cache.attach_table('pages', namespace => 'page', writable => true));
my $client = client_of('LATIN1');

sub client_of { return PlcResp->new(resp_server(lc $_[0], sql => $sql, extra => [ "--encoding=$_[0]", '--no-locale' ])) }

$client->ask(SET => "page:\xe9", '{"title":"one"}');
$client->ask(SET => "page:\xc3\xa9", '{"title":"two"}');
is($client->get(HGET => "page:\xe9", 'title'), 'one', 'LATIN1: one byte, one character');
is($client->get(HGET => 'page:{"path":"\u00e9"}', 'title'), 'one', 'LATIN1: the same by its escape');
is($client->get(HGET => "page:{\"path\":\"\\u0065\xe9\\u00c3\xe9\"}", 'title'), undef, 'LATIN1: bytes and escapes');
is($client->ask(GET => 'page:{"path":"\u20ac"}'),
	error('ERR character with byte sequence 0xe2 0x82 0xac in encoding "UTF8" has no equivalent in encoding "LATIN1"'),
	'LATIN1: a character that it has not');
$client->ask(SET => 'page:x', '{"title":"\u00e9"}');
is($client->ask(GET => 'page:x'), bulk(qq({"path":"x","title":"\xe9"})), 'LATIN1: an escape in a row');

$client = client_of('SQL_ASCII');
is($client->ask(SET => "page:\xff\xfe", '{"title":"x"}'), "+OK\r\n", 'SQL_ASCII: any bytes');
is($client->get(HGET => "page:{\"path\":\"\xff\xfe\"}", 'title'), 'x', 'SQL_ASCII: and in JSON');
is($client->ask(GET => 'page:{"path":"\u0041"}'), bulk(undef), 'SQL_ASCII: an escape of ASCII');
is($client->ask(GET => 'page:{"path":"\u00e9"}'), error('ERR conversion between UTF8 and SQL_ASCII is not supported'),
	'SQL_ASCII: an escape of something else');

$client = client_of('EUC_JP');
$client->ask(SET => "page:\xc6\xfc", '{"title":"day"}');
is($client->get(HGET => 'page:{"path":"\u65e5"}', 'title'), 'day', 'EUC_JP: an escape');
is($client->ask(GET => "page:\xc6"), error('ERR value for key column "path" is not valid text in encoding "EUC_JP"'),
	'EUC_JP: half a character');
done_testing();
