# Who a client is and what it may do: token, roles, passwords, privileges, and what changes under an open connection.
use strict;
use warnings;

use Digest::SHA qw(hmac_sha256 sha256);
use MIME::Base64 qw(encode_base64);
use PlcTest;
use PlcResp;
use PostgreSQL::Test::Utils;
use Test::More;

my $wrong = "-WRONGPASS invalid username-password pair or user is disabled.\r\n";
my $noauth = "-NOAUTH Authentication required.\r\n";
my $ok = "+OK\r\n";
my $row = bulk('{"id":1,"name":"apple","cost":5}');
my ($token, $other_token) = map { $_ x 32 } qw(t u);

my $server = resp_server('auth', conf => "pg_local_cache.workers = 1\n", sql => q(
	CREATE TABLE items (id int PRIMARY KEY, name text, cost int);
	INSERT INTO items VALUES (1, 'apple', 5);
	SELECT local_cache.attach_table('items', namespace => 'items');
	CREATE ROLE readers;
	GRANT SELECT ON items TO app, readers;
	CREATE ROLE reader LOGIN PASSWORD 'secret' IN ROLE readers;
	CREATE ROLE partial LOGIN PASSWORD 'secret';
	GRANT SELECT (id, name) ON items TO partial;
	CREATE ROLE accented LOGIN PASSWORD U&'I\\00ADX caf\\00E9';
	CREATE ROLE wordy LOGIN PASSWORD ') . 'w' x 100 . q(';
	CREATE ROLE "Odd name" LOGIN PASSWORD 'secret';
	SET password_encryption = md5;
	CREATE ROLE old_style LOGIN PASSWORD 'secret';
	RESET password_encryption;
	CREATE ROLE expired LOGIN PASSWORD 'secret' VALID UNTIL '2001-01-01';
	CREATE ROLE lasting LOGIN PASSWORD 'secret' VALID UNTIL 'infinity';
	CREATE ROLE no_login PASSWORD 'secret';
	CREATE ROLE no_password LOGIN;
	CREATE ROLE no_connect LOGIN PASSWORD 'secret';
	CREATE ROLE super LOGIN SUPERUSER PASSWORD 'secret';
	REVOKE CONNECT ON DATABASE postgres FROM PUBLIC;
	GRANT CONNECT ON DATABASE postgres TO app, reader, partial, accented, wordy, "Odd name", old_style, expired, lasting,
		no_login, no_password));

sub sql { return $server->safe_psql('postgres', $_[0]) }

sub client { return PlcResp->new($server, @_) }

# A connection that acts as the role.
sub client_as
{
	my ($role, $password) = @_;
	my $client = client();

	is($client->ask('AUTH', $role, $password // 'secret'), $ok, "$role has authenticated");
	return $client;
}

# Settings, by reload.  How long the log was before.
sub set
{
	my (%setting) = @_;
	my $log = -s $server->logfile;

	$server->append_conf('postgresql.conf', "pg_local_cache.$_ = '$setting{$_}'") for keys %setting;
	$server->reload;
	return $log;
}

sub write_token
{
	my ($content, $mode) = @_;
	my $file = $server->data_dir . '/token';

	unlink $file;
	append_to_file($file, $content);
	chmod $mode // 0600, $file or die "could not chmod: $!";
}

# Requests that are each refused, with the reply that each gives.  Failures are late, so all are made at once.
sub all_refused
{
	my ($what, @requests) = @_;
	my @clients = map { my $client = client(); $client->send(command(@$_)); $client } @requests;

	is($clients[$_]->reply, $wrong, "$what: " . join(' ', map { substr $_, 0, 40 } @{ $requests[$_] })) for 0 .. $#requests;
}

# Without a token, on loopback
is(client()->ask('GET', 'items:1'), $row, 'without a token a client on loopback acts as the role at once');
is(client()->ask('AUTH', 'default', 'whatever'), $ok, 'and may say that it is nobody in particular');
like(client()->ask('AUTH', 'whatever'), qr/^-ERR AUTH <password> called without any password configured/, 'a token nobody asked for');
my $locked_out = client_as('reader');
sql('ALTER ROLE reader NOLOGIN');
like($locked_out->ask('GET', 'items:1'), qr/^-NOAUTH /, 'a role that is locked out');
is($locked_out->ask('GET', 'items:1'), $noauth, 'does not become the role of those without one');
sql('ALTER ROLE reader LOGIN');
is($locked_out->ask('GET', 'items:1'), $noauth, 'nor itself again');
is($locked_out->ask('RESET'), "+RESET\r\n", 'RESET');
is($locked_out->ask('GET', 'items:1'), $row, 'takes a connection back to where it began');
set(role => '');
poll_until(sub { client()->ask('PING') eq $noauth }, 'nobody is let in');
is(client()->ask('GET', 'items:1'), $noauth, 'without a role nobody is let in without a password');
is(client_as('reader')->ask('GET', 'items:1'), $row, 'with one it acts as its role');
set(role => 'no such role');
poll_until(sub { $server->safe_psql('postgres', 'SHOW pg_local_cache.role') eq 'no such role' }, 'the setting');
like(client()->ask('GET', 'items:1'), qr/^-NOAUTH role "no such role" /, 'a role that does not exist lets nobody in');

# The token
write_token("$token\n");
set(role => 'app', token_file => 'token');
poll_until(sub { client()->ask('AUTH', $token) eq $ok }, 'the token is known');
is(client()->ask(split / /), $noauth, "without the token not $_")
  for 'GET items:1', 'SET items:1 {}', 'SCAN 0', 'DBSIZE', 'STAT', 'INFO', 'CLIENT LIST', 'CLIENT ID', 'CONFIG GET *', 'INVALIDATE CRUD', 'MULTI', 'EXEC', 'PING';
for my $login ([ 'AUTH', $token ], [ 'AUTH', 'default', $token ])
{
	my $client = client();

	is($client->ask(@$login), $ok, "@$login[0 .. $#$login - 1] with the token");
	is($client->ask('GET', 'items:1'), $row, 'acts as the role');
}
my $hello = client();
like($hello->ask('HELLO', 3, 'AUTH', 'default', $token, 'SETNAME', 'me'), qr/^%7\r\n/, 'HELLO 3 AUTH with the token');
is($hello->ask('GET', 'items:1'), $row, 'acts as the role');
all_refused('not the token', [ 'AUTH', 'app', $token ], [ 'AUTH', 'default', $other_token ],
	map { [ 'AUTH', $_ ] } substr($token, 1), "$token\n", "$token\0", "${token}t", 't' x 31 . 'x', 'x' . 't' x 31, '', 'x', $other_token, 't' x 16000);

# Its file
sub stays_in_force
{
	my ($what, $message) = @_;
	my $log = set();

	$server->wait_for_log(qr/WARNING: .*cannot use token file "token": $message.*\n.*The token that was read before stays in force\./, $log);
	is(client()->ask('AUTH', $token), $ok, "$what: the old token is right");
}
write_token("$other_token\n", 0640);
stays_in_force('readable for a group', qr/others than its owner have access/);
write_token("$other_token\n", 0604);
stays_in_force('readable for all', qr/others than its owner have access/);
write_token('u' x 31 . "\n");
stays_in_force('short', qr/its 31 bytes are less than 32/);
write_token('u' x 1025);
stays_in_force('long', qr/it has more than 1024 bytes/);
unlink $server->data_dir . '/token';
stays_in_force('missing', qr/No such file/);
symlink '.', $server->data_dir . '/token' or die "could not link: $!";
stays_in_force('a folder', qr/it is not a regular file/);
my $keeps = client();
is($keeps->ask('AUTH', $token), $ok, 'before the token changes');
write_token($other_token);
set();
poll_until(sub { client()->ask('AUTH', $other_token) eq $ok }, 'the new token is known');
all_refused('no more', [ 'AUTH', $token ]);
is($keeps->ask('GET', 'items:1'), $row, 'who gave the old token stays');
unlink $server->data_dir . '/token';
my $log = -s $server->logfile;
$server->restart;
resp_serves($server);
$server->wait_for_log(qr/cannot use token file "token".*\n.*No token is accepted\./, $log);
is(client()->ask('GET', 'items:1'), $noauth, 'a file that is missing at start lets nobody in');
poll_until(sub { (resp_workers($server))[0]->{problem} eq 'cannot use token file "token": No such file or directory' }, 'health() says why');
all_refused('no token', [ 'AUTH', $other_token ], [ 'AUTH', '' ]);
write_token("$token\r\n");
set();
poll_until(sub { client()->ask('AUTH', $token) eq $ok }, 'the token is known again');
poll_until(sub { (resp_workers($server))[0]->{problem} eq '' }, 'and health() is content');

# Passwords
client_as($_) for qw(reader lasting old_style), 'Odd name';
client_as('wordy', 'w' x 100);
client_as('accented', "I\xc2\xadX caf\xc3\xa9");
client_as('accented', "IX caf\xc3\xa9");
$hello = client();
like($hello->ask(qw(HELLO 3 AUTH reader secret)), qr/^%7\r\n/, 'HELLO 3 AUTH with a password');
is($hello->ask('GET', 'items:1'), $row, 'acts as the role');
all_refused('no password of a role', map { [ 'AUTH', @$_ ] } [qw(reader Secret)], [ 'reader', '' ], [ 'reader', "secret\0" ], [ 'reader', 'x' x 16000 ],
	[qw(old_style Secret)], [ 'old_style', '' ], [qw(nobody secret)], [ '', 'secret' ], [ "reader\0", 'secret' ], [ 'r' x 64, 'secret' ],
	[qw(READER secret)], [qw(expired secret)], [qw(no_login secret)], [ 'no_password', '' ], [qw(no_password secret)], [qw(no_connect secret)],
	[qw(super secret)], [ 'reader', sql(q(SELECT rolpassword FROM pg_authid WHERE rolname = 'reader')) ]);

# The log takes one of them a second, so it may be another that it takes.
my $logged = qr/LOG: .*authentication failed for role "x\\x0a\\x22\\xe9": the role does not exist\n.*DETAIL:  The client is 127\.0\.0\.1:\d+\./;
poll_until(sub { client()->ask('AUTH', "x\n\"\xe9", 'secret') eq $wrong && slurp_file($server->logfile) =~ $logged }, 'the failure is in the log');
unlike(slurp_file($server->logfile), qr/Secret|t{31}/, 'no password and no token stands in the log');

# One reply a command, whatever fails
my $pipe = client();
$pipe->send(join '', map { command(@$_) } [qw(AUTH reader Secret)], ['PING'], [qw(GET items:1)], [qw(HELLO 3 AUTH nobody secret)], [qw(AUTH reader secret)],
	[qw(GET items:1)], [qw(AUTH reader wrong)], [qw(GET items:1)], [qw(ECHO end)]);
is_deeply([ $pipe->replies(9) ], [ $wrong, $noauth, $noauth, $wrong, $ok, $row, $wrong, $row, bulk('end') ],
	'a failed AUTH in a pipeline is one reply, and leaves a client who it was');
ok($pipe->quiet, 'and nothing more');

# What a role may do
my $partial = client_as('partial');
my $forbidden = $partial->ask('GET', 'items:1');
like($forbidden, qr/^-NOPERM [^\r\n]*\r\n\z/, 'a column that the role may not read forbids the row');
is($partial->ask('GET', 'items:2'), $forbidden, 'the error is the same without a row');
is($partial->ask('EXISTS', 'items:1'), $forbidden, 'and the same for EXISTS');
is($partial->ask('EXISTS', 'items:2'), $forbidden, 'without a row');
sql('GRANT SELECT (cost) ON items TO partial');
is($partial->ask('GET', 'items:1'), $row, 'the columns together are enough');
sql('REVOKE SELECT (name) ON items FROM partial');
is($partial->ask('GET', 'items:1'), $forbidden, 'REVOKE on a column counts for the next command');
my $reader = client_as('reader');
is($reader->ask('GET', 'items:1'), $row, 'a privilege by membership');
sql('REVOKE readers FROM reader');
is($reader->ask('GET', 'items:1'), $forbidden, 'and its end counts for the next command');
sql('GRANT readers TO reader');
is($reader->ask('GET', 'items:1'), $row, 'as its return does');

# What becomes of an open connection
sub ends_for_connection
{
	my ($what, $statement, $undo) = @_;
	my $client = client_as('reader');

	is($client->ask('GET', 'items:1'), $row, "before $what");
	sql($statement);
	like($client->ask('GET', 'items:1'), qr/^-NOAUTH /, "$what ends what a connection may do");
	all_refused($what, [qw(AUTH reader secret)]);
	sql($undo);
}
ends_for_connection('NOLOGIN', 'ALTER ROLE reader NOLOGIN', 'ALTER ROLE reader LOGIN');
ends_for_connection('REVOKE CONNECT', 'REVOKE CONNECT ON DATABASE postgres FROM reader', 'GRANT CONNECT ON DATABASE postgres TO reader');
ends_for_connection('SUPERUSER', 'ALTER ROLE reader SUPERUSER', 'ALTER ROLE reader NOSUPERUSER');
my $changes = client_as('reader');
sql(q(ALTER ROLE reader PASSWORD 'new'));
client_as('reader', 'new');
all_refused('not the new password', [qw(AUTH reader secret)]);
is($changes->ask('GET', 'items:1'), $row, 'a new password leaves open connections alone');
sql(q(ALTER ROLE reader VALID UNTIL '2001-01-01'));
all_refused('expired', [qw(AUTH reader new)]);
is($changes->ask('GET', 'items:1'), $row, 'so does its expiry');
sql(q(DROP OWNED BY reader; DROP ROLE reader));
like($changes->ask('GET', 'items:1'), qr/^-NOAUTH /, 'DROP ROLE ends what a connection may do');
is($changes->ask('AUTH', $token), $ok, 'which may become somebody else');
is($changes->ask('GET', 'items:1'), $row, 'then');
sql(q(REVOKE SELECT ON items FROM app));
is($changes->ask('GET', 'items:1'), $forbidden, 'the role of the token has no more rights than others');
sql(q(GRANT SELECT ON items TO app));

# Superusers
set(allow_superuser => 'on');
my $super = client();
poll_until(sub { $super->ask(qw(AUTH super secret)) eq $ok }, 'a superuser is let in');
is($super->ask('GET', 'items:1'), $row, 'with allow_superuser a superuser is served');
set(allow_superuser => 'off');
poll_until(sub { $super->ask('GET', 'items:1') =~ /^-NOAUTH / }, 'a superuser is not served any more');

# Slow work.  The secret is made by hand, since not all versions have a setting for its rounds.
sub secret_of
{
	my ($password, $rounds) = @_;
	my $last = my $sum = hmac_sha256('some salt' . pack('N', 1), $password);

	for (2 .. $rounds)
	{
		$last = hmac_sha256($last, $password);
		$sum ^= $last;
	}
	return sprintf 'SCRAM-SHA-256$%d:%s$%s:%s', $rounds, map { encode_base64($_, '') } 'some salt',
	  sha256(hmac_sha256('Client Key', $sum)), hmac_sha256('Server Key', $sum);
}
my $secret = secret_of('slow', 500_000);
sql(qq(CREATE ROLE slow LOGIN PASSWORD '$secret'; CREATE ROLE quick LOGIN PASSWORD 'quick';
	GRANT CONNECT ON DATABASE postgres TO slow, quick));

# Begins the slow check, and returns when the worker is at it.
sub slow_client
{
	my $client = client();

	$client->send(command(qw(AUTH slow slow)) . command('PING'));
	client()->ask('ECHO', '') for 1 .. 3;
	return $client;
}
my $leaves = slow_client();
$leaves->abort;
my $changed = slow_client();
sql(q(ALTER ROLE slow PASSWORD 'slow'));
ok($changed->quiet, 'the check is under way when the password is changed');
is($changed->reply, $wrong, 'and is not right any more, although the new password is the same');
sql(qq(ALTER ROLE slow PASSWORD '$secret'));
my $renamed = slow_client();
sql('ALTER ROLE slow RENAME TO sluggish');
ok($renamed->quiet, 'the check is under way when the role is renamed');
is($renamed->reply, $wrong, 'and is not right any more');
sql('ALTER ROLE sluggish RENAME TO slow');
my $slow = slow_client();
client_as('quick', 'quick');
ok($slow->quiet, 'a quick check does not wait for a slow one');
my $meanwhile = client();
my $answered = 0;
while ($slow->quiet)
{
	$meanwhile->ask('PING');
	$answered++;
}
is($slow->reply, $ok, 'a slow check ends well');
is($slow->reply, "+PONG\r\n", 'and the pipeline goes on');
cmp_ok($answered, '>', 100, 'the worker has answered others all the time');

# Beyond loopback
$server->append_conf('postgresql.conf', "pg_local_cache.token_file = ''\npg_local_cache.listen_addresses = '0.0.0.0'");
$log = -s $server->logfile;
$server->restart;
$server->wait_for_log(qr/cannot listen on "0\.0\.0\.0[^"]*" without a token\n.*HINT: .*pg_local_cache\.token_file/, $log);
poll_until(sub { (resp_workers($server))[0]->{problem} =~ /without a token/ }, 'health() says it');
is(sql('SELECT 1'), 1, 'the server is not harmed');
set(token_file => 'token');
resp_serves($server);
is(client()->ask('AUTH', $token), $ok, 'with a token it is listened on all addresses');

done_testing();
