# A client of the endpoint that hides nothing: it sends bytes and gives back the bytes of each reply.
#
#   my $client = PlcResp->new($server);                    # over TCP; see new() for other ways
#   is($client->ask('GET', 'items:1'), "\$4\r\nword\r\n"); # one command, the bytes of its reply
#   $client->send("*1\r\n\$4\r\nPI");                      # any bytes
#   is($client->reply, "+PONG\r\n");                       # the next reply
#   is_deeply($client->get('HGETALL', 'items:1'), [...]);  # the same as Perl values
#   is($client->rest, '');                                 # what comes until the server closes
#
# Nothing sleeps: each wait is for the socket, and dies when the time of PostgreSQL's tests (PG_TEST_TIMEOUT_DEFAULT)
# is over.  Servers come from resp_server() below.
package PlcResp;

use strict;
use warnings;

use Carp qw(croak);
use Errno qw(EAGAIN EWOULDBLOCK EINTR EINPROGRESS ECONNRESET EPIPE);
use Exporter qw(import);
use IO::Select;
use IO::Socket::IP;
use IO::Socket::UNIX;
use PlcTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Socket qw(SOL_SOCKET SO_RCVBUF SO_LINGER);
use Test::More ();

our @EXPORT = qw(resp_server resp_serves resp_settings resp_workers worker_of client_on command bulk array map_of error arity
	reply_is poll_until);

# Writing to a connection that the server has closed is an error that send() looks at.
$SIG{PIPE} = 'IGNORE';

# Servers

# A running server with an endpoint on a free port, which it listens on at once; whoever connects acts as role "app",
# who may use the schema local_cache.
#   sql:   run first, in database postgres; "app" exists.
#   conf:  more lines for postgresql.conf.
#   other options go to cached_server().
sub resp_server
{
	my ($name, %option) = @_;
	my ($sql, $conf) = map { delete $option{$_} // '' } qw(sql conf);
	my $server = cached_server($name, conf => "pg_local_cache.verify = 0\n$conf", %option);

	$server->safe_psql('postgres', "CREATE ROLE app LOGIN; GRANT USAGE ON SCHEMA local_cache TO app; $sql");
	$server->append_conf('postgresql.conf', resp_settings($server));
	$server->restart;
	resp_serves($server);
	return $server;
}

# The lines for postgresql.conf that open an endpoint on a port of its own.
sub resp_settings
{
	my ($server) = @_;

	$server->{resp_port} = PostgreSQL::Test::Cluster::get_free_port();
	return qq(
		pg_local_cache.port = $server->{resp_port}
		pg_local_cache.listen_addresses = '127.0.0.1'
		pg_local_cache.role = 'app'
	);
}

# Waits until all workers serve.
sub resp_serves
{
	my ($server) = @_;

	poll_until(sub { !grep { $_->{status} ne 'serving' } resp_workers($server) }, 'the workers serve');
}

# Each worker as a hash of number, pid, status, problem; as health() has them.
sub resp_workers
{
	my ($server) = @_;
	my $rows = $server->safe_psql('postgres', q(
		SELECT w ->> 'worker', w ->> 'pid', w ->> 'status', coalesce(w ->> 'problem', '')
		FROM jsonb_array_elements(local_cache.health() -> 'endpoint' -> 'workers') AS w ORDER BY 1));

	return map { my %worker; @worker{qw(number pid status problem)} = split /\|/, $_, 4; \%worker } split /\n/, $rows;
}

# The number of the worker that serves this client.
sub worker_of
{
	my ($server, $client) = @_;

	return $server->safe_psql('postgres', 'SELECT worker FROM local_cache.clients WHERE id = ' . $client->get(qw(CLIENT ID)));
}

# A client that this worker serves.  The kernel spreads them by chance.
sub client_on
{
	my ($server, $worker, %option) = @_;

	return poll_until(sub {
		my $client = PlcResp->new($server, %option);
		return worker_of($server, $client) eq $worker && $client;
	}, "the kernel gives a client to worker $worker");
}

# Asks again until the answer is true, and gives it back.  The pause costs nothing but the machine's time.
sub poll_until
{
	my ($ask, $what) = @_;
	my $deadline = time + $PostgreSQL::Test::Utils::timeout_default;
	my $answer;

	while (!($answer = $ask->()))
	{
		croak "timed out: $what" if time > $deadline;
		select(undef, undef, undef, 0.01);
	}
	return $answer;
}

# Bytes

# A request.
sub command { return '*' . @_ . "\r\n" . join('', map { bulk($_) } @_) }

# Parts of replies.  undef is the null of protocol 2.
sub bulk { return defined $_[0] ? '$' . length($_[0]) . "\r\n$_[0]\r\n" : "\$-1\r\n" }
sub array { return '*' . @_ . "\r\n" . join('', @_) }
sub error { return "-$_[0]\r\n" }
sub arity { return error("ERR wrong number of arguments for '$_[0]' command") }
sub map_of { return '%' . @_ / 2 . "\r\n" . join('', @_) }

# A test: are these bytes those, or like that?
sub reply_is
{
	my ($reply, $expected, $name) = @_;
	my $tests = Test::More->builder;

	$name = _shown($name, 60);
	return ref $expected ? $tests->like($reply, $expected, $name) : $tests->is_eq($reply, $expected, $name);
}

# Clients

# To a server of resp_server().  Options: host, port, path (of a Unix socket) instead; receive_buffer, in bytes, of the
# kernel; protocol => 3 says HELLO 3.
sub new
{
	my ($class, $server, %option) = @_;
	my $self = bless { in => '', eof => 0 }, $class;

	$self->{socket} = $option{path}
	  ? IO::Socket::UNIX->new(Type => SOCK_STREAM(), Peer => $option{path})
	  : IO::Socket::IP->new(PeerHost => $option{host} // '127.0.0.1', PeerPort => $option{port} // $server->{resp_port},
		Proto => 'tcp', $option{receive_buffer} ? (Sockopts => [ [ SOL_SOCKET, SO_RCVBUF, $option{receive_buffer} ] ]) : ())
	  or croak 'could not connect: ' . ($@ || $!);
	$self->{socket}->blocking(0);
	$self->get('HELLO', 3) if ($option{protocol} // 2) == 3;
	return $self;
}

# Sends all of it.  A server may want us to read before it reads on, so we do.  If the other side has closed, the rest
# is lost, and nothing said: what it had to say is in rest().  A sink is called with a reference to what has been
# received, each time it grows, and may take from it.
sub send
{
	my ($self, $bytes, $sink) = @_;
	my $sent = 0;

	while ($sent < length $bytes)
	{
		my ($readable, $writable) = $self->_wait(1);

		$self->_receive($sink) if $readable;
		next unless $writable;
		my $n = syswrite $self->{socket}, $bytes, 65536, $sent;
		if (defined $n) { $sent += $n }
		elsif ($! == EPIPE || $! == ECONNRESET) { return }
		elsif ($! != EAGAIN && $! != EINTR) { croak "could not send: $!" }
	}
	return $self;
}

# Sends what the kernel takes without waiting; the number of bytes.
sub send_some
{
	my ($self, $bytes) = @_;
	my $n = syswrite $self->{socket}, $bytes;

	return $n if defined $n;
	croak "could not send: $!" if $! != EAGAIN;
	return 0;
}

# Sends a byte at a time, each in a segment of its own.
sub send_slowly
{
	my ($self, $bytes) = @_;

	setsockopt $self->{socket}, Socket::IPPROTO_TCP(), Socket::TCP_NODELAY(), 1 or croak "could not set TCP_NODELAY: $!";
	$self->send($_) for split //, $bytes;
	return $self;
}

# The bytes of the next reply.  Pushes count as replies.
sub reply
{
	my ($self) = @_;
	my $end;

	until (defined($end = _end_of_reply($self->{in}, 0)))
	{
		croak 'the server closed the connection after "' . _shown($self->{in}) . '"' if $self->{eof};
		$self->_wait(0);
		$self->_receive;
	}
	return substr $self->{in}, 0, $end, '';
}

sub replies { my ($self, $n) = @_; return map { $self->reply } 1 .. $n }

# One command, the bytes of its reply.
sub ask
{
	my ($self, @words) = @_;

	$self->send(command(@words));
	return $self->reply;
}

# One command, its reply as a Perl value: null is undef, an array or set a reference to an array, a map to a hash; an
# error keeps its minus.
sub get { my ($self, @words) = @_; return $self->value($self->ask(@words)) }

sub value
{
	my ($self, $bytes) = @_;
	my $at = 0;

	return _value($bytes, \$at);
}

# All that comes until the server closes.
sub rest
{
	my ($self) = @_;

	until ($self->{eof})
	{
		$self->_wait(0);
		$self->_receive;
	}
	return substr $self->{in}, 0, length $self->{in}, '';
}

# Has nothing come, and is the connection open?  Only after something else shows that it would have come.
sub quiet
{
	my ($self) = @_;

	$self->_receive while !$self->{eof} && IO::Select->new($self->{socket})->can_read(0);
	return $self->{in} eq '' && !$self->{eof};
}

# Half closed: the server gets an end of file.
sub shut { shutdown $_[0]->{socket}, 1 }

sub close { close $_[0]->{socket} }

# Closed with a reset, as by a client that died.
sub abort
{
	my ($self) = @_;

	setsockopt $self->{socket}, SOL_SOCKET, SO_LINGER, pack('II', 1, 0);
	CORE::close $self->{socket};
}

sub socket { return $_[0]->{socket} }

sub _wait
{
	my ($self, $to_write) = @_;
	my $set = IO::Select->new($self->{socket});
	my ($readable, $writable) = IO::Select->select($self->{eof} ? undef : $set, $to_write ? $set : undef, undef,
		$PostgreSQL::Test::Utils::timeout_default);

	croak 'timed out with "' . _shown($self->{in}) . '" received' unless $readable || $writable;
	return (scalar @$readable, scalar @$writable);
}

sub _receive
{
	my ($self, $sink) = @_;
	my $n = sysread $self->{socket}, $self->{in}, 1 << 20, length $self->{in};

	if (!defined $n)
	{
		return if $! == EAGAIN || $! == EINTR;
		croak "could not receive: $!" if $! != ECONNRESET;
		$self->{reset} = 1;
	}
	$self->{eof} = 1 unless $n;
	$sink->(\$self->{in}) if $n && $sink;
}

# Where the reply that begins at $at ends, or undef.
sub _end_of_reply
{
	my $at = $_[1];
	my $wanted = 1;

	while ($wanted-- > 0)
	{
		my $line_end = index $_[0], "\r\n", $at;
		return undef if $line_end < 0;
		my ($type, $rest) = (substr($_[0], $at, 1), substr($_[0], $at + 1, $line_end - $at - 1));

		croak 'not a reply: "' . _shown(substr $_[0], $at, 100) . '"' if $type !~ /^[-+:,#(_\$=!*~>%]\z/;
		$at = $line_end + 2;
		if ($type =~ /[\$=!]/ && $rest >= 0)
		{
			return undef if length $_[0] < $at + $rest + 2;
			croak "no line end after \"$type$rest\"" if substr($_[0], $at + $rest, 2) ne "\r\n";
			$at += $rest + 2;
		}
		elsif ($type =~ /[*~>]/ && $rest > 0) { $wanted += $rest }
		elsif ($type eq '%') { $wanted += 2 * $rest }
	}
	return $at;
}

sub _value
{
	my ($bytes, $at) = @_;
	my $line_end = index $bytes, "\r\n", $$at;
	my ($type, $rest) = (substr($bytes, $$at, 1), substr($bytes, $$at + 1, $line_end - $$at - 1));

	$$at = $line_end + 2;
	return $rest if $type =~ /[+:,(]/;
	return "-$rest" if $type eq '-';
	return $rest eq 't' ? 1 : 0 if $type eq '#';
	return undef if $type eq '_' || $rest eq '-1';
	return [ map { _value($bytes, $at) } 1 .. $rest ] if $type =~ /[*~>]/;
	return { map { _value($bytes, $at) } 1 .. 2 * $rest } if $type eq '%';
	my $text = substr $bytes, $$at, $rest;
	$$at += $rest + 2;
	return $type eq '=' ? substr($text, 4) : $text;
}

sub _shown
{
	my ($bytes, $most) = (@_, 300);

	$bytes = substr($bytes, 0, $most) . ' ...' if length $bytes > $most;
	return $bytes =~ s/([^ -~])/sprintf '\\x%02x', ord $1/ger;
}

1;
