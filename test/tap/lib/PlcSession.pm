# A session that lives as long as the test wants: what one backend remembers is where a cache can go wrong.
#
#   my $reader = PlcSession->new($server);
#   is($reader->say('SELECT 1'), '1', 'it answers');              # dies of an error or a warning
#   like($reader->error('SELECT 1/0'), qr/division by zero/);
#   $reader->start('UPDATE items SET v = 2');                     # does not wait for the end
#   is($reader->finish, '', 'done');                              # does
package PlcSession;

use strict;
use warnings;

sub new
{
	my ($class, $server, %option) = @_;
	my $psql = $server->background_psql($option{dbname} // 'postgres', on_error_stop => 0,
		$option{user} ? (extra_params => [ '--username', $option{user} ]) : ());
	my $self = bless { psql => $psql }, $class;

	# A time limit for each statement, not for the session.
	$psql->set_query_timer_restart;
	$self->{pid} = $self->say('SELECT pg_backend_pid()');
	return $self;
}

sub pid { return $_[0]->{pid} }

# What a statement prints.
sub say
{
	my ($self, $sql) = @_;
	my ($output, $error) = $self->_run($sql);

	die "\"$sql\" said: $error\n" if $error ne '';
	return $output;
}

# What a statement says on the side: errors, warnings.
sub error
{
	my ($self, $sql) = @_;

	return ($self->_run($sql))[1];
}

sub start
{
	my ($self, $sql) = @_;

	$self->{psql}->query_until(qr/^started$/m, "\\echo started\n$sql;\n");
}

# What the statement that was started prints in the end.
sub finish { return $_[0]->say('') }

# What it says on the side.
sub finish_error { return $_[0]->error('') }

sub quit { $_[0]->{psql}->quit }

sub _run
{
	my ($self, $sql) = @_;
	my ($output) = $self->{psql}->query($sql);
	my $error = $self->{psql}->{stderr};

	$self->{psql}->{stderr} = '';
	return ($output, $error);
}

1;
