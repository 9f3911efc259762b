# Running the programs of redis-tools, once or through a terminal.
package Cli;

use strict;
use warnings;

use Exporter qw(import);
use IPC::Run qw(run start pump finish timeout);
use Time::HiRes qw(sleep time);

our @EXPORT = qw(ROWS key text plain_key program cli expect matches steps terminal);

use constant ROWS => 10000;

my @place = ('-h', $ENV{ENDPOINT_HOST}, '-p', $ENV{ENDPOINT_PORT});

sub key { return qq(CRUD:shop.public.items:{"id":$_[0]}); }

# The form without quotes, for what is typed.
sub plain_key { return "items:$_[0]"; }

sub text
{
	my ($id) = @_;

	return sprintf('{"id":%d,"name":"item %d","price":%.2f,"note":null}', $id, $id, $id / 4);
}

# program('redis-benchmark', ARGUMENT...) returns what it printed; dies unless it succeeded.  A first argument that is
# a reference is its input.
sub program
{
	my $input = ref $_[0] ? shift : \'';
	my ($name, @arguments) = @_;
	my $output = '';
	my $limit = timeout(60);

	run([ $name, @place, @arguments ], '<', $input, '>&', \$output, $limit)
	  or die "$name @arguments ended with status " . ($? >> 8) . ": $output\n";
	return $output;
}

sub cli { return program(ref $_[0] ? shift : (), 'redis-cli', @_); }

sub expect
{
	my ($got, $want) = @_;

	die 'got "' . substr($got, 0, 300) . '" instead of "' . substr($want, 0, 300) . "\"\n" if $got ne $want;
}

sub matches
{
	my ($got, $pattern) = @_;

	die 'got "' . substr($got, -300) . "\", which does not match $pattern\n" if $got !~ $pattern;
}

# steps(NAME => sub {...}, ...) runs each and prints what came of it.
sub steps
{
	my @steps = @_;

	local $| = 1;
	print "version ", `redis-cli --version` =~ /(\d[\d.]+)/, "\n";
	while (my ($name, $code) = splice(@steps, 0, 2))
	{
		if (eval { $code->(); 1 })
		{
			print "ok $name\n";
			next;
		}
		my $why = $@;
		$why =~ s/\s+/ /g;
		print "not ok $name: $why\n";
	}
}

# A redis-cli that is typed to.
package Cli::Terminal;

use strict;
use warnings;

use IPC::Run qw(start pump finish timeout);

# A terminal that has no size is asked where its cursor is, and this one would not say.
sub new
{
	my ($class, @arguments) = @_;
	my $self = bless { in => '', out => '' }, $class;
	my $size = sub { system('stty cols 100 rows 40') };

	local $ENV{TERM} = 'xterm';
	local $ENV{HOME} = '/nonexistent';    # for a history
	$self->{process} = start([ 'redis-cli', @place, @arguments ],
		'<pty<', \$self->{in}, '>pty>', \$self->{out}, init => $size, timeout(60));
	return $self->expect(qr/> $/);
}

# Types a line, and returns what comes before the next prompt.
sub type
{
	my ($self, $line) = @_;

	$self->{out} = '';
	$self->{in} .= "$line\r";
	return $self->expect(qr/\n.*> $/s)->{out};
}

sub expect
{
	my ($self, $pattern) = @_;

	pump $self->{process} until visible($self->{out}) =~ $pattern;
	$self->{out} = visible($self->{out});
	return $self;
}

# What is typed comes back a key at a time, with movements of the cursor.
sub visible
{
	my ($text) = @_;

	$text =~ s/\e\[[\d;]*[A-Za-z]//g;
	$text =~ s/\r+\n/\n/g;
	$text =~ s/^.*\r//mg;
	return $text;
}

# Types "quit", and waits for the end.
sub close
{
	my ($self) = @_;

	$self->{in} .= "quit\r";
	finish $self->{process} or die "redis-cli ended with status " . ($? >> 8) . "\n";
}

1;
