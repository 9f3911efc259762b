package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"
)

type goRedis struct {
	*redis.Client
}

// The pool has one connection, so that CLIENT INFO tells of the one that all else goes through.
func connectGoRedis(ctx context.Context, o options) (client, error) {
	c := goRedis{redis.NewClient(&redis.Options{
		Addr:       o.address,
		Username:   o.role,
		Password:   o.password,
		ClientName: o.clientName,
		DB:         o.database,
		Protocol:   o.protocol,
		PoolSize:   1,
	})}
	if err := c.Ping(ctx).Err(); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

func (c goRedis) ping(ctx context.Context) (string, error) {
	return c.Ping(ctx).Result()
}

func (c goRedis) info(ctx context.Context) (string, error) {
	return c.Do(ctx, "CLIENT", "INFO").Text()
}

func (c goRedis) get(ctx context.Context, key string) (*string, error) {
	return orNil(c.Get(ctx, key).Result())
}

func (c goRedis) mget(ctx context.Context, keys []string) ([]*string, error) {
	values, err := c.MGet(ctx, keys...).Result()
	texts := make([]*string, len(values))
	for n, value := range values {
		if value != nil {
			texts[n] = some(value.(string))
		}
	}
	return texts, err
}

func (c goRedis) hgetall(ctx context.Context, key string) (map[string]string, error) {
	return c.HGetAll(ctx, key).Result()
}

func (c goRedis) writeAndLook(ctx context.Context, key, row string) ([]string, error) {
	pipe := c.Pipeline()
	set, there := pipe.Set(ctx, key, row, 0), pipe.Get(ctx, key)
	deleted, gone := pipe.Del(ctx, key), pipe.Get(ctx, key)
	if _, err := pipe.Exec(ctx); err != nil && !errors.Is(err, redis.Nil) {
		return nil, err
	}
	last, err := orNil(gone.Result())
	return []string{set.Val(), there.Val(), fmt.Sprint(deleted.Val()), show(last)}, err
}

func (c goRedis) pipeline(ctx context.Context, keys []string) ([]*string, error) {
	pipe := c.Pipeline()
	for _, key := range keys {
		pipe.Get(ctx, key)
	}
	commands, err := pipe.Exec(ctx)
	values := make([]*string, len(commands))
	for n, command := range commands {
		values[n] = some(command.(*redis.StringCmd).Val())
	}
	return values, err
}

func (c goRedis) close() error {
	return c.Close()
}

func orNil(value string, err error) (*string, error) {
	if errors.Is(err, redis.Nil) {
		return nil, nil
	}
	return &value, err
}
