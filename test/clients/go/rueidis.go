package main

import (
	"context"
	"fmt"

	"github.com/redis/rueidis"
)

type rueidisClient struct {
	rueidis.Client
}

// Without its cache, which needs CLIENT TRACKING; and with one connection, as CLIENT INFO tells of one.
func connectRueidis(_ context.Context, o options) (client, error) {
	c, err := rueidis.NewClient(rueidis.ClientOption{
		InitAddress:       []string{o.address},
		Username:          o.role,
		Password:          o.password,
		ClientName:        o.clientName,
		SelectDB:          o.database,
		AlwaysRESP2:       o.protocol == 2,
		DisableCache:      true,
		PipelineMultiplex: -1,
	})
	if err != nil {
		return nil, err
	}
	return rueidisClient{c}, nil
}

func (c rueidisClient) ping(ctx context.Context) (string, error) {
	return c.Do(ctx, c.B().Ping().Build()).ToString()
}

func (c rueidisClient) info(ctx context.Context) (string, error) {
	return c.Do(ctx, c.B().Arbitrary("CLIENT", "INFO").Build()).ToString()
}

func (c rueidisClient) get(ctx context.Context, key string) (*string, error) {
	return rueidisText(c.Do(ctx, c.B().Get().Key(key).Build()))
}

func (c rueidisClient) mget(ctx context.Context, keys []string) ([]*string, error) {
	messages, err := c.Do(ctx, c.B().Mget().Key(keys...).Build()).ToArray()
	texts := make([]*string, len(messages))
	for n, message := range messages {
		if !message.IsNil() {
			text, err := message.ToString()
			if err != nil {
				return nil, err
			}
			texts[n] = &text
		}
	}
	return texts, err
}

func (c rueidisClient) hgetall(ctx context.Context, key string) (map[string]string, error) {
	return c.Do(ctx, c.B().Hgetall().Key(key).Build()).AsStrMap()
}

func (c rueidisClient) writeAndLook(ctx context.Context, key, row string) ([]string, error) {
	answers := c.DoMulti(ctx,
		c.B().Set().Key(key).Value(row).Build(), c.B().Get().Key(key).Build(),
		c.B().Del().Key(key).Build(), c.B().Get().Key(key).Build())
	seen := make([]string, len(answers))
	for n, answer := range answers {
		value, err := answer.ToAny()
		switch {
		case rueidis.IsRedisNil(err):
			seen[n] = "nil"
		case err != nil:
			return nil, err
		default:
			seen[n] = fmt.Sprint(value)
		}
	}
	return seen, nil
}

func (c rueidisClient) pipeline(ctx context.Context, keys []string) ([]*string, error) {
	commands := make(rueidis.Commands, len(keys))
	for n, key := range keys {
		commands[n] = c.B().Get().Key(key).Build()
	}
	values := make([]*string, len(keys))
	for n, answer := range c.DoMulti(ctx, commands...) {
		var err error
		if values[n], err = rueidisText(answer); err != nil {
			return nil, err
		}
	}
	return values, nil
}

func (c rueidisClient) close() error {
	c.Close()
	return nil
}

func rueidisText(answer rueidis.RedisResult) (*string, error) {
	text, err := answer.ToString()
	if rueidis.IsRedisNil(err) {
		return nil, nil
	}
	return &text, err
}
