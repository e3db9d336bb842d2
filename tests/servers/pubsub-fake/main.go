// Serves Google's in-memory fake of Pub/Sub at an address, until it is killed:
//
//	pubsub-fake 127.0.0.1:18085 127.0.0.1:18086
//
// The fake is Google's own (pstest). This program adds features of the service that the fake lacks: a Pull that is answered as soon as there
// is a message, refused credentials, and throttling. The API key of a call decides about the last two: calls with "refused" are refused, and
// calls with "throttled" are throttled, as many as the last line says that was sent to the second address.
package main

import (
	"context"
	"fmt"
	"log"
	"net"
	"os"
	"sync/atomic"
	"time"

	pb "cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"cloud.google.com/go/pubsub/v2/pstest"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

const (
	// The limit exceeds every message that the service takes.
	maxMessage = 32 << 20
	// Time for which a Pull waits for a message. The service does not state its own time.
	maxWait = 20 * time.Second
	// The pause between two looks.
	pause = time.Millisecond
)

func main() {
	if len(os.Args) != 3 {
		log.Fatal("usage: pubsub-fake ADDRESS ADDRESS")
	}
	fake := pstest.NewServer()
	listener, control := listen(os.Args[1]), listen(os.Args[2])
	go takeOrders(control)
	server := grpc.NewServer(grpc.ChainUnaryInterceptor(admit, waitForMessages), grpc.MaxRecvMsgSize(maxMessage), grpc.MaxSendMsgSize(maxMessage))
	pb.RegisterPublisherServer(server, &fake.GServer)
	pb.RegisterSubscriberServer(server, &fake.GServer)
	log.Fatal(server.Serve(listener))
}

func listen(address string) net.Listener {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		log.Fatal(err)
	}
	return listener
}

// Number of calls that are still to be throttled.
var throttled atomic.Int64

// Reads a number from each connection, and answers with a byte when it is in force.
func takeOrders(control net.Listener) {
	for {
		connection, err := control.Accept()
		if err != nil {
			log.Fatal(err)
		}
		var calls int64
		if _, err := fmt.Fscanln(connection, &calls); err == nil {
			throttled.Store(calls)
			connection.Write([]byte{'.'})
		}
		connection.Close()
	}
}

func admit(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	incoming, _ := metadata.FromIncomingContext(ctx)
	for _, key := range incoming.Get("x-goog-api-key") {
		if key == "refused" {
			return nil, status.Error(codes.Unauthenticated, "API key not valid")
		}
		if key == "throttled" && throttled.Add(-1) >= 0 {
			return nil, status.Error(codes.ResourceExhausted, "quota exceeded")
		}
	}
	return next(ctx, req)
}

// The fake looks once, and once more after half a second.
func waitForMessages(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	pull, ok := req.(*pb.PullRequest)
	if !ok || pull.ReturnImmediately {
		return next(ctx, req)
	}
	pull.ReturnImmediately = true
	end := time.Now().Add(maxWait)
	for {
		answer, err := next(ctx, pull)
		if err != nil || len(answer.(*pb.PullResponse).ReceivedMessages) > 0 || time.Now().After(end) {
			return answer, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(pause):
		}
	}
}
