// One client, through all steps:  clients go-redis|rueidis 2|3
//
// The environment and the output are those of ../node/main.js; the steps are those of ../node/steps.js.
package main

import (
	"context"
	"fmt"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"time"
)

// options of a connection
type options struct {
	address            string
	role, password     string
	clientName         string
	database, protocol int
}

// client is what the steps need of a client.  A key without a row is nil.
type client interface {
	ping(context.Context) (string, error)
	info(context.Context) (string, error)
	get(context.Context, string) (*string, error)
	mget(context.Context, []string) ([]*string, error)
	hgetall(context.Context, string) (map[string]string, error)
	// writeAndLook sends SET key row, GET key, DEL key, GET key at once.
	writeAndLook(ctx context.Context, key, row string) ([]string, error)
	pipeline(context.Context, []string) ([]*string, error)
	close() error
}

var clients = map[string]struct {
	module  string
	connect func(context.Context, options) (client, error)
}{
	"go-redis": {"github.com/redis/go-redis/v9", connectGoRedis},
	"rueidis":  {"github.com/redis/rueidis", connectRueidis},
}

func main() {
	entry, known := clients[os.Args[1]]
	if !known {
		fmt.Fprintf(os.Stderr, "there is no client %q\n", os.Args[1])
		os.Exit(1)
	}
	fmt.Println("version", moduleVersion(entry.module))

	protocol, _ := strconv.Atoi(os.Args[2])
	run := &run{connect: entry.connect, options: options{
		address:  os.Getenv("ENDPOINT_HOST") + ":" + os.Getenv("ENDPOINT_PORT"),
		protocol: protocol,
	}}
	for _, step := range steps {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		err := step.do(ctx, run)
		cancel()
		if err == nil {
			fmt.Println("ok", step.name)
			continue
		}
		fmt.Printf("not ok %s: %s\n", step.name, strings.Join(strings.Fields(err.Error()), " "))
		if run.client == nil {
			os.Exit(1)
		}
	}
}

func moduleVersion(path string) string {
	build, _ := debug.ReadBuildInfo()
	for _, module := range build.Deps {
		if module.Path == path {
			return strings.TrimPrefix(module.Version, "v")
		}
	}
	return "?"
}
