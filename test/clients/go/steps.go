package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"reflect"
	"regexp"
	"time"
)

const (
	rows    = 10000
	awkward = "Zo\u00eb said \"hi\"\n\u65e5\u672c \\ \U0001F600"
)

// run is a client on its way through the steps.
type run struct {
	connect func(context.Context, options) (client, error)
	options options
	client  client
}

var steps = []struct {
	name string
	do   func(context.Context, *run) error
}{
	{"connect", stepConnect},
	{"hit", stepHit},
	{"miss", stepMiss},
	{"MGET", stepMget},
	{"HGETALL", stepHgetall},
	{"HGETALL of no row", stepHgetallNoRow},
	{"SET, GET", stepSetGet},
	{"pipeline", stepPipeline},
	{"reconnect", stepReconnect},
	{"login", stepLogin},
	{"wrong password", stepWrongPassword},
	{"close", stepClose},
}

func stepConnect(ctx context.Context, r *run) error {
	connected, err := r.connect(ctx, r.options)
	if err != nil {
		return err
	}
	if err := expect("PONG")(connected.ping(ctx)); err != nil {
		return err
	}
	r.client = connected
	return expectField(ctx, connected, "resp", fmt.Sprint(r.options.protocol))
}

func stepHit(ctx context.Context, r *run) error {
	return errors.Join(
		expect(some(text(1)))(r.client.get(ctx, key(1))),
		expect(some(text(1)))(r.client.get(ctx, key(1))))
}

func stepMiss(ctx context.Context, r *run) error {
	return errors.Join(
		expect((*string)(nil))(r.client.get(ctx, key(-1))),
		expect((*string)(nil))(r.client.get(ctx, "session:not-a-row")))
}

func stepMget(ctx context.Context, r *run) error {
	return expect([]*string{some(text(2)), nil, some(text(1)), some(text(2))})(
		r.client.mget(ctx, []string{key(2), key(-1), key(1), key(2)}))
}

// A column that is null is absent; an empty string is not.
func stepHgetall(ctx context.Context, r *run) error {
	return errors.Join(
		expect(map[string]string{"id": "10001", "name": awkward, "price": "0.50", "note": ""})(
			r.client.hgetall(ctx, key(10001))),
		expect(map[string]string{"id": "10002", "name": "without a note", "price": "0.25"})(
			r.client.hgetall(ctx, key(10002))))
}

func stepHgetallNoRow(ctx context.Context, r *run) error {
	return expect(map[string]string{})(r.client.hgetall(ctx, key(-1)))
}

func stepSetGet(ctx context.Context, r *run) error {
	id := os.Getenv("ENDPOINT_ROW")
	row := fmt.Sprintf(`{"id":%s,"name":"written","price":1.50,"note":null}`, id)
	return expect([]string{"OK", row, "1", "nil"})(r.client.writeAndLook(ctx, key(id), row))
}

func stepPipeline(ctx context.Context, r *run) error {
	keys, texts := make([]string, rows), make([]*string, rows)
	for n := range keys {
		keys[n], texts[n] = key(n+1), some(text(n+1))
	}
	got, err := r.client.pipeline(ctx, keys)
	if err == nil && !reflect.DeepEqual(got, texts) {
		err = errors.New("some of the rows are wrong")
	}
	return err
}

// The workers are gone for a second; what a client says meanwhile is its own affair.
func stepReconnect(ctx context.Context, r *run) error {
	before, err := r.client.info(ctx)
	if err != nil {
		return err
	}
	if output, err := exec.CommandContext(ctx, "sh", "-c", os.Getenv("KILL_WORKERS")).CombinedOutput(); err != nil {
		return fmt.Errorf("could not end the workers: %s", output)
	}
	if err := expect(some(text(3)))(untilAnswered(ctx, r.client, key(3))); err != nil {
		return err
	}
	after, err := r.client.info(ctx)
	if err == nil && field(after, "id") == field(before, "id") {
		err = errors.New("the connection was never interrupted")
	}
	return err
}

func stepLogin(ctx context.Context, r *run) error {
	options := r.options
	options.role, options.password = os.Getenv("ENDPOINT_ROLE"), os.Getenv("ENDPOINT_PASSWORD")
	options.clientName, options.database = "shop", 1
	connected, err := r.connect(ctx, options)
	if err != nil {
		return err
	}
	return errors.Join(
		expect(some(text(4)))(connected.get(ctx, key(4))),
		expectField(ctx, connected, "user", options.role),
		expectField(ctx, connected, "name", "shop"),
		connected.close())
}

func stepWrongPassword(ctx context.Context, r *run) error {
	options := r.options
	options.role, options.password = os.Getenv("ENDPOINT_ROLE"), "wrong"
	connected, err := r.connect(ctx, options)
	if err != nil {
		return nil
	}
	defer connected.close()
	if _, err := connected.get(ctx, key(1)); err == nil {
		return errors.New("the row was read all the same")
	}
	return nil
}

func stepClose(_ context.Context, r *run) error {
	return r.client.close()
}

func key(id any) string {
	return fmt.Sprintf(`CRUD:shop.public.items:{"id":%v}`, id)
}

func text(id int) string {
	return fmt.Sprintf(`{"id":%d,"name":"item %d","price":%.2f,"note":null}`, id, id, float64(id)/4)
}

func some(text string) *string {
	return &text
}

// expect makes a function that takes what a call returned.
func expect[T any](want T) func(T, error) error {
	return func(got T, err error) error {
		if err == nil && !reflect.DeepEqual(got, want) {
			err = fmt.Errorf("got %s instead of %s", show(got), show(want))
		}
		return err
	}
}

func show(value any) string {
	switch value := value.(type) {
	case *string:
		if value == nil {
			return "nil"
		}
		return *value
	case []*string:
		shown := make([]string, len(value))
		for n := range value {
			shown[n] = show(value[n])
		}
		return fmt.Sprint(shown)
	}
	return fmt.Sprint(value)
}

func expectField(ctx context.Context, c client, name, want string) error {
	line, err := c.info(ctx)
	if err == nil && field(line, name) != want {
		err = fmt.Errorf("CLIENT INFO has %s=%s instead of %s", name, field(line, name), want)
	}
	return err
}

// field of a line as CLIENT INFO has it: id=3 addr=127.0.0.1:4000 name= ...  rueidis leaves txt: before a verbatim string.
func field(line, name string) string {
	found := regexp.MustCompile(`(?:^|^txt:|\s)` + name + `=(\S*)`).FindStringSubmatch(line)
	if found == nil {
		return "nothing"
	}
	return found[1]
}

func untilAnswered(ctx context.Context, c client, key string) (*string, error) {
	for {
		value, err := c.get(ctx, key)
		if err == nil || ctx.Err() != nil {
			return value, err
		}
		select {
		case <-ctx.Done():
		case <-time.After(50 * time.Millisecond):
		}
	}
}
