# Stops a backend at a function of the server or of the extension, with gdb, so that a test can look at the moment in
# between.  Works on stock packages: their backend exports its functions.
#
#   my $stop = GdbStop->new($pid, 'AtEOXact_Inval');    # armed when it returns
#   ... have the backend do something that calls the function ...
#   $stop->wait_stopped;                                # it stands there now
#   ... look from other sessions ...
#   $stop->release;                                     # it goes on, gdb is gone
package GdbStop;

use strict;
use warnings;

use IPC::Run;
use PostgreSQL::Test::Utils;

# Why gdb cannot be used here, or undef.
sub missing
{
	my $scope = '/proc/sys/kernel/yama/ptrace_scope';

	return 'gdb is not installed' if system('gdb --version >/dev/null 2>&1') != 0;
	return "gdb may not attach to other processes: see $scope"
	  if -e $scope && slurp_file($scope) !~ /^0/ && $> != 0;
	return undef;
}

sub new
{
	my ($class, $pid, $function) = @_;
	my $self = bless {
		function => $function,
		in => join('', map { "$_\n" } 'set pagination off', 'set confirm off', 'set breakpoint pending off',
			'handle SIGUSR1 SIGUSR2 SIGALRM nostop noprint pass', "break $function", 'continue'),
		out => '',
		timeout => IPC::Run::timer($PostgreSQL::Test::Utils::timeout_default)
	}, $class;

	$self->{run} = IPC::Run::start([ 'gdb', '--nx', '--quiet', '-p', $pid ],
		'<', \$self->{in}, '&>', \$self->{out}, $self->{timeout});
	$self->_wait(qr/^.*Continuing\./m);
	return $self;
}

# Returns when the backend stands at the function.
sub wait_stopped
{
	my ($self) = @_;

	$self->_wait(qr/Breakpoint [\d.]+, /);
}

# Lets the backend go on, now and at later calls.
sub release
{
	my ($self) = @_;

	$self->{in} .= "delete\ndetach\nquit\n";
	$self->{run}->finish;
	delete $self->{run};
}

# A test that fails must not leave its backend standing still: the server could not be stopped.
sub DESTROY
{
	my ($self) = @_;

	local $?;
	$self->{run}->kill_kill if $self->{run} && $self->{run}->pumpable;
}

sub _wait
{
	my ($self, $pattern) = @_;

	pump_until($self->{run}, $self->{timeout}, \$self->{out}, $pattern)
	  or die "gdb did not come to \"$self->{function}\":\n$self->{out}\n";
}

1;
