// Serves Google's in-memory fake of Pub/Sub at an address, until it is killed:
//
//	pubsub-fake 127.0.0.1:18085
//
// The fake is Google's own (pstest). Added are what the service has and the fake lacks: a Pull that is answered as soon as there is a
// message, credentials that are refused, and a service that has enough to do. The last two go by the API key of a call: "refused"
// is refused, and of the calls with "throttled" every second one is.
package main

import (
	"context"
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
	// Longer than any message that the service takes.
	maxMessage = 32 << 20
	// How long a Pull waits for a message. The service does not say how long it does.
	maxWait = 20 * time.Second
	// The pause between two looks.
	pause = time.Millisecond
)

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: pubsub-fake ADDRESS")
	}
	fake := pstest.NewServer()
	listener, err := net.Listen("tcp", os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	server := grpc.NewServer(grpc.ChainUnaryInterceptor(admit, waitForMessages), grpc.MaxRecvMsgSize(maxMessage), grpc.MaxSendMsgSize(maxMessage))
	pb.RegisterPublisherServer(server, &fake.GServer)
	pb.RegisterSubscriberServer(server, &fake.GServer)
	log.Fatal(server.Serve(listener))
}

var throttled atomic.Uint64

func admit(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	incoming, _ := metadata.FromIncomingContext(ctx)
	for _, key := range incoming.Get("x-goog-api-key") {
		if key == "refused" {
			return nil, status.Error(codes.Unauthenticated, "API key not valid")
		}
		if key == "throttled" {
			switch throttled.Add(1) % 4 {
			case 1:
				return nil, status.Error(codes.ResourceExhausted, "quota exceeded")
			case 3:
				return nil, status.Error(codes.Unavailable, "the service is currently unavailable")
			}
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
