# redis-cli through all steps:  perl -I. redis-cli.pl 2|3
#
# The environment and the output are those of ../node/main.js; the steps are those of ../node/steps.js.
use strict;
use warnings;

use Time::HiRes qw(sleep time);
use Cli;

my ($protocol) = @ARGV;
my @protocol = $protocol == 3 ? ('-3') : ();
my @login = ('--no-auth-warning', '--user', $ENV{ENDPOINT_ROLE});
my $awkward = qq(Zo\xc3\xab said "hi"\n\xe6\x97\xa5\xe6\x9c\xac \\ \xf0\x9f\x98\x80);
my $terminal;

steps(
	'connect' => sub {
		expect(cli(@protocol, 'PING'), "PONG\n");
		matches(cli(@protocol, 'CLIENT', 'INFO'), qr/ resp=$protocol\b/);
	},
	'hit' => sub {
		expect(cli(@protocol, 'GET', key(1)), text(1) . "\n");
		expect(cli(@protocol, 'GET', key(1)), text(1) . "\n");
	},
	'miss' => sub {
		expect(cli(@protocol, 'GET', key(-1)), "\n");
		expect(cli(@protocol, 'GET', 'session:not-a-row'), "\n");
	},
	'MGET' => sub {
		expect(cli(@protocol, 'MGET', map { key($_) } 2, -1, 1, 2), join("\n", text(2), '', text(1), text(2), ''));
	},
	# A column that is null is absent; an empty string is not.
	'HGETALL' => sub {
		expect(cli(@protocol, 'HGETALL', key(10001)), fields(id => 10001, name => $awkward, price => '0.50', note => ''));
		expect(cli(@protocol, 'HGETALL', key(10002)), fields(id => 10002, name => 'without a note', price => '0.25'));
	},
	'HGETALL of no row' => sub {
		expect(cli(@protocol, 'HGETALL', key(-1)), "\n");
	},
	# Typed into a pipe, so with the quotes that redis-cli wants.
	'SET, GET' => sub {
		my $key = key($ENV{ENDPOINT_ROW});
		my $row = qq({"id":$ENV{ENDPOINT_ROW},"name":"written","price":1.50,"note":null});
		my $input = join('', map { "$_\n" } "SET '$key' '$row'", "GET '$key'", "DEL '$key'", "GET '$key'");

		expect(cli(\$input, @protocol), "OK\n$row\n1\n\n");
	},
	# What --pipe sends are requests as they go over the wire; it counts the replies.
	'pipeline' => sub {
		my $input = join('', map { request('GET', key($_)) } 1 .. ROWS);

		matches(cli(\$input, @protocol, '--pipe'), qr/errors: 0, replies: ${\ROWS}\b/);
	},
	'reconnect' => sub {
		$terminal = Cli::Terminal->new(@protocol);
		matches($terminal->type('GET ' . typed(key(3))), qr/item 3/);
		my ($before) = $terminal->type('CLIENT INFO') =~ /\bid=(\d+)/;
		system("$ENV{KILL_WORKERS} >/dev/null") == 0 or die "could not end the workers\n";
		matches(until_answered($terminal, 'GET ' . typed(key(3))), qr/item 3/);
		my ($after) = $terminal->type('CLIENT INFO') =~ /\bid=(\d+)/;
		die "the connection was never interrupted\n" if $before == $after;
	},
	'login' => sub {
		expect(cli(@protocol, @login, '--pass', $ENV{ENDPOINT_PASSWORD}, '-n', 1, 'GET', key(4)), text(4) . "\n");
		matches(cli(@protocol, @login, '--pass', $ENV{ENDPOINT_PASSWORD}, '-n', 1, 'CLIENT', 'INFO'),
			qr/ user=$ENV{ENDPOINT_ROLE}\b/);
	},
	# It says so, and goes on as who it was.
	'wrong password' => sub {
		matches(cli(@protocol, @login, '--pass', 'wrong', 'PING'), qr/WRONGPASS/);
	},
	'close' => sub {
		$terminal->close();
	});

# A map, as redis-cli prints it where it is none and where it is one.
sub fields
{
	my @lines = @_;
	my $between = $protocol == 3 ? ' ' : "\n";
	my $printed = '';

	while (my ($name, $value) = splice(@lines, 0, 2))
	{
		$printed .= "$name$between$value\n";
	}
	return $printed;
}

sub request
{
	return join('', '*' . @_ . "\r\n", map { '$' . length($_) . "\r\n$_\r\n" } @_);
}

sub typed
{
	return "'$_[0]'";
}

# The workers are gone for a second.
sub until_answered
{
	my ($terminal, $line) = @_;
	my $deadline = time + 25;

	while (1)
	{
		my $seen = $terminal->type($line);
		return $seen if $seen =~ /item \d/ || time > $deadline;
		sleep 0.05;
	}
}
