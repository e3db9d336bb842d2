// go-redis with its defaults. `foreign.rs` says what the programs here do.
package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"reflect"
	"time"

	"github.com/redis/go-redis/v9"
)

func expect(what string, found any, expected any) {
	if !reflect.DeepEqual(found, expected) {
		fmt.Fprintf(os.Stderr, "go-redis: %s: %.200v in place of %.200v\n", what, found, expected)
		os.Exit(1)
	}
}

// Returns the result of a command, or the text of its error.
func of[T any](result T, err error) any {
	if err != nil {
		return err.Error()
	}
	return result
}

func connect(url string) *redis.Client {
	options, err := redis.ParseURL(url)
	expect("ParseURL", err, nil)
	return redis.NewClient(options)
}

func main() {
	ctx := context.Background()
	store := connect(os.Args[1])
	info := store.InfoMap(ctx, "server").Item("Server", "redis_mode")
	expect("INFO", info, "standalone")
	expect("SET", of(store.Set(ctx, "name", "value", 0).Result()), "OK")
	expect("GET", of(store.Get(ctx, "name").Result()), "value")
	expect("GET of nothing", store.Get(ctx, "nothing").Err(), redis.Nil)
	expect("EXISTS", of(store.Exists(ctx, "name", "nothing", "name").Result()), int64(2))
	expect("MGET", of(store.MGet(ctx, "name", "nothing").Result()), []any{"value", nil})
	for count := range int64(2) {
		expect("INCR", of(store.Incr(ctx, "count").Result()), count+1)
	}
	expect("SET with a lifetime", of(store.Set(ctx, "limited", "value", 1000*time.Second).Result()), "OK")
	left := store.TTL(ctx, "limited").Val()
	expect("TTL", left >= 990*time.Second && left <= 1000*time.Second, true)
	expect("EXPIRE", of(store.Expire(ctx, "name", 0).Result()), true)
	expect("GET behind EXPIRE", store.Get(ctx, "name").Err(), redis.Nil)
	expect("DEL", of(store.Del(ctx, "count", "limited", "nothing").Result()), int64(2))

	replies, err := store.Pipelined(ctx, func(pipeline redis.Pipeliner) error {
		for range 100_000 {
			pipeline.Incr(ctx, "pipelined")
		}
		return nil
	})
	expect("pipeline", err, nil)
	expect("replies of the pipeline", len(replies), 100_000)
	for index, reply := range replies {
		expect("pipeline", reply.(*redis.IntCmd).Val(), int64(index+1))
	}
	large := bytes.Repeat([]byte("0123456789abcdef"), 1<<20)
	expect("SET of 16 MiB", of(store.Set(ctx, "large", large, 0).Result()), "OK")
	found, _ := store.Get(ctx, "large").Bytes()
	expect("GET of 16 MiB", bytes.Equal(found, large), true)
	expect("unknown command", of(store.Do(ctx, "NOTHING", "a", "b c").Result()),
		"ERR unknown command 'NOTHING', with args beginning with: 'a' 'b c' ")

	fmt.Println("restart")
	_, err = bufio.NewReader(os.Stdin).ReadString('\n')
	expect("restart", err, nil)
	expect("GET after a restart", store.Get(ctx, "large").Err(), redis.Nil)

	expect("login", of(connect(os.Args[2]).Set(ctx, "name", "value", 0).Result()), "OK")
	expect("login with a wrong password", of(connect(os.Args[3]).Ping(ctx).Result()),
		"WRONGPASS invalid username-password pair or user is disabled.")
	fmt.Println("ok")
}
