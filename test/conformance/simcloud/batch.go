package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"

	"weir.dev/weir/batch"
)

// A share is what the objects of a batch have of the operation that the cloud does for all
// of them.
type share struct{ err error }

type shareKey struct{}

func shareOf(ctx context.Context) *share {
	s, _ := ctx.Value(shareKey{}).(*share)
	return s
}

// batches is the service where SIM_BATCH says how many requests a call may have: a number, or
// three for reads, plans and changes (100,100,0). To the limits a batch of reads or changes is
// one operation. Each is an event "batch" named METHOD of NUMBER.
func batches(p *simProvider) *batch.Service {
	said := os.Getenv("SIM_BATCH")
	if said == "" {
		return nil
	}
	var numbers [3]int
	for i, text := range strings.SplitN(said, ",", 3) {
		n, _ := strconv.Atoi(text)
		for ; i < 3; i++ {
			numbers[i] = n
		}
	}
	return &batch.Service{
		Limits: batch.Limits{Read: numbers[0], Plan: numbers[1], Apply: numbers[2]},
		Prepare: func(ctx context.Context, b batch.Batch) (context.Context, error) {
			s := p.connection
			if s == nil {
				return ctx, nil
			}
			end, err := s.cloud.Begin("batch", b.Type, fmt.Sprintf("%s of %d", b.Method, len(b.Requests)))
			if err != nil {
				return ctx, err
			}
			of := &share{}
			if b.Method == batch.Plan {
				ctx = markPlans(ctx, b.Requests...)
			} else {
				of.err = theLimits().keep(func() error { return nil })
			}
			end(of.err)
			return context.WithValue(ctx, shareKey{}, of), nil
		},
	}
}

// serve serves a protocol with the service beside it, if there is one.
func serve(protocol uint, s *batch.Service, p plugin.Plugin) {
	plugin.Serve(&plugin.ServeConfig{
		HandshakeConfig: plugin.HandshakeConfig{
			ProtocolVersion:  protocol,
			MagicCookieKey:   "TF_PLUGIN_MAGIC_COOKIE",
			MagicCookieValue: "d602bf8f470bc67ca7faa0386276bbdd4330efaf76d1a219cb4d6991ca9872b2",
		},
		Plugins: plugin.PluginSet{"provider": p},
		GRPCServer: func(options []grpc.ServerOption) *grpc.Server {
			options = append(options, grpc.ChainUnaryInterceptor(seeNewest))
			if s == nil {
				const most = 256 << 20 // bytes
				return grpc.NewServer(append(options, grpc.MaxRecvMsgSize(most), grpc.MaxSendMsgSize(most))...)
			}
			return s.Server(options...)
		},
	})
}
