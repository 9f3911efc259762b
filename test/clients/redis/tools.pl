# What else the programs of redis-tools can do:  perl -I. tools.pl
#
# The environment and the output are those of ../node/main.js.
use strict;
use warnings;

use IPC::Run qw(start pump timeout);
use Cli;

my @benchmark = ('redis-benchmark', '-n', 20000, '-c', 16, '-r', 10000, '--csv');

steps(
	'redis-cli, typed to' => sub {
		my $terminal = Cli::Terminal->new;
		matches($terminal->type('GET ' . plain_key(1)), qr/item 1/);
		matches($terminal->type('help get'), qr/summary:/);
		matches($terminal->type('nonsense'), qr/unknown command/);
		matches($terminal->type('EXISTS ' . plain_key(1)), qr/\(integer\) 1/);
		$terminal->close();
	},
	'redis-cli --scan' => sub {
		my %seen = map { $_ => 1 } split(/\n/, cli('--scan'));
		my @missing = grep { !$seen{ plain_key($_) } } 1 .. ROWS;
		die scalar(@missing) . " keys are missing, \"" . plain_key($missing[0]) . "\" for one\n" if @missing;
	},
	'redis-cli --scan --pattern' => sub {
		expect(join(' ', sort split(/\n/, cli('--scan', '--pattern', plain_key('999?')))),
			join(' ', map { plain_key("999$_") } 0 .. 9));
	},
	'redis-cli --bigkeys' => sub {
		matches(cli('--bigkeys'), qr/Sampled (\d{5}) keys in the keyspace.*Biggest\s+hash found/s);
	},
	# It never ends by itself.
	'redis-cli --stat' => sub {
		my $output = '';
		my $stat = start([ 'redis-cli', '-h', $ENV{ENDPOINT_HOST}, '-p', $ENV{ENDPOINT_PORT}, '-i', '0.1', '--stat' ],
			'>&', \$output, timeout(60));
		pump $stat until $output =~ /(\d+ +\S+ +\d+ +\d+ +\d+ \(\+\d+\) +\d+\s+){3}/;
		$stat->kill_kill;
	},
	'redis-cli --latency' => sub {
		matches(cli('-i', '0.1', '--raw', '--latency'), qr/^\d+(\.\d+)? \d+/);
	},
	'redis-cli --json HGETALL' => sub {
		expect(cli('--json', 'HGETALL', plain_key(10002)), qq({"id":"10002","name":"without a note","price":"0.25"}\n));
	},
	# 20,000 requests of random keys among the 10,000 rows, numbers with zeros in front.  It stops at the first error.
	'redis-benchmark' => sub {
		expect(cli('GET', plain_key('000000000042')), text(42) . "\n");
		finished(program(@benchmark, 'GET', plain_key('__rand_int__')));
	},
	'redis-benchmark -P 16' => sub {
		finished(program(@benchmark, '-P', 16, 'GET', 'CRUD:shop.public.items:{"id":__rand_int__}'));
	},
	'redis-benchmark -3' => sub {
		finished(program(@benchmark, '-3', 'HGETALL', plain_key('__rand_int__')));
	},
	'redis-benchmark MGET' => sub {
		finished(program(@benchmark, 'MGET', (plain_key('__rand_int__')) x 16));
	},
	'redis-benchmark -t get,set' => sub {
		matches(program(@benchmark, '-t', 'get'), qr/"GET","[\d.]+"/);
	});

sub finished
{
	matches($_[0], qr/^"\S+ .*","[\d.]+"/m);
}
