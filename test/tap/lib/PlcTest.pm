# What the scripts in t/ start with: PostgreSQL's own test modules, found through PG_CONFIG, and servers with the
# cache in them.
#
#   use PlcTest;
#   use Test::More;
#
#   my $server = cached_server('main', conf => 'work_mem = 1MB');
#   is($server->safe_psql('postgres', 'SELECT 1'), '1', 'it answers');
#   done_testing();
#
# $server is a PostgreSQL::Test::Cluster; its documentation is in the comments of Cluster.pm, in the folder that
# `dirname $(pg_config --pgxs)`/../test/perl names.  Data and logs are in tmp_check/tap/ of the source folder; the data
# of scripts that passed is removed.
package PlcTest;

use strict;
use warnings;

use Cwd qw(abs_path);
use Exporter qw(import);
use File::Basename qw(dirname);
use File::Path qw(make_path);

our @EXPORT = qw(cached_server plain_server metrics quiet_psql);

my $source;

BEGIN
{
	my $pg_config = $ENV{PG_CONFIG} || 'pg_config';
	my ($bindir, $pgxs) = map { chomp(my $value = `'$pg_config' $_`); $value } qw(--bindir --pgxs);
	die "cannot run \"$pg_config\": set PG_CONFIG to the pg_config of the server to test\n" if $?;
	my $tests = abs_path(dirname($pgxs) . '/../test');

	$source = abs_path(dirname(__FILE__) . '/../../..');
	unshift @INC, "$tests/perl";
	$ENV{PATH} = "$bindir:$ENV{PATH}";
	$ENV{PG_REGRESS} = "$tests/regress/pg_regress";

	# 15 goes by the first of these, later versions by the other two.
	$ENV{TESTDIR} = "$source/tmp_check/tap";
	$ENV{TESTDATADIR} = "$ENV{TESTDIR}/tmp_check";
	$ENV{TESTLOGDIR} = "$ENV{TESTDATADIR}/log";
	make_path($ENV{TESTDIR});
}

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;

# A running server with the library preloaded and the extension in database postgres.
# conf: more lines for postgresql.conf.  Other options go to init(), as allows_streaming => 1.
sub cached_server
{
	my ($name, %option) = @_;

	$option{conf} = slurp_file("$source/test/postgresql.conf") . ($option{conf} // '');
	return plain_server($name, %option);
}

# The same without the library preloaded.
sub plain_server
{
	my ($name, %option) = @_;
	my $conf = delete $option{conf} // '';
	my $server = PostgreSQL::Test::Cluster->new($name);

	$server->init(extra => [ '--encoding=UTF8', '--no-locale' ], %option);
	$server->append_conf('postgresql.conf', $conf);
	$server->start;
	$server->safe_psql('postgres', 'CREATE EXTENSION pg_local_cache');
	return $server;
}

# The counters of the whole server, as a hash.
sub metrics
{
	my ($server) = @_;
	my $rows = $server->safe_psql('postgres',
		'SELECT key, value FROM jsonb_each_text(to_jsonb(local_cache.metrics()))');

	return { map { split /\|/ } split /\n/, $rows };
}

# What a statement prints, which must be all that happens: a warning is an error too.
sub quiet_psql
{
	my ($server, $sql) = @_;
	my ($status, $stdout, $stderr) = $server->psql('postgres', $sql);

	die "\"$sql\" said: $stderr\n" if $status != 0 || $stderr ne '';
	return $stdout;
}

1;
