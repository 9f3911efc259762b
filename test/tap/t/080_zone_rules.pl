# The rules of a time zone are read from a file, which may be another one tomorrow: then two sessions mean different
# things by one name, and each must get its own text.  Here gdb puts the rules of another zone into a session's memory,
# before the session reads the table for the first time, as if its file had been replaced.
use strict;
use warnings;

use PlcTest;
use PlcSession;
use GdbStop;
use PostgreSQL::Test::Utils;
use Test::More;

plan skip_all => GdbStop::missing() if GdbStop::missing();

# In a pg_tz the name comes first; the rules follow.
my ($name_bytes, $rules_bytes) = (256, 22600);

my $server = cached_server('zone_rules', conf => "pg_local_cache.verify = 0\n");
my $row = q(SELECT local_cache.mget_json('event', ARRAY[1]));

sub text { return qq{[{"id":1,"at":"$_[0]","span":"[\\"$_[1]\\",)"}]} }
my $tokyo = text('2026-07-01T21:00:00+09:00', '2026-07-01 21:00:00+09');
my $kolkata = text('2026-07-01T17:30:00+05:30', '2026-07-01 17:30:00+05:30');

sub replace_rules
{
	my ($session, $other) = @_;
	my @commands = (
		qq{set var \$other = ((char *(*)(char *)) pg_tzset)("$other")},
		"set var {char[$rules_bytes]}($name_bytes + *(char **) &session_timezone) = {char[$rules_bytes]}($name_bytes + \$other)");

	run_log([ 'gdb', '--nx', '--quiet', '--batch', '-p', $session->pid, map { ('-ex', $_) } @commands ]) or die "gdb failed\n";
}

$server->safe_psql('postgres', q{
	CREATE TABLE event (id int PRIMARY KEY, at timestamptz, span tstzrange);
	INSERT INTO event VALUES (1, '2026-07-01 12:00Z', '[2026-07-01 12:00Z,)');
	SELECT local_cache.attach_table('event')});

my ($before, $after) = map { PlcSession->new($server) } 1 .. 2;
$_->say("SET timezone = 'Asia/Tokyo'") foreach $before, $after;
replace_rules($after, 'Asia/Kolkata');
is($after->say(q(SELECT current_setting('timezone'))), 'Asia/Tokyo', 'the zone has the same name');
is($after->say(q(SELECT json_agg(e) FROM event e)), $kolkata, 'and other rules');

foreach my $round (1 .. 2)
{
	is($before->say($row), $tokyo, "a session with the old rules, read $round");
	is($after->say($row), $kolkata, "a session with the new rules, read $round");
}
cmp_ok(metrics($server)->{hits}, '==', 2, 'each finds its own text');

done_testing();
