// Package batching sends several requests for one resource type in one plugin call, by the
// optional service weir.batch.v1.
//
// It owns whether a plugin has the service, how large a call is and what becomes of requests
// when a call fails as a whole. It doesn't know what is in them: they are bytes.
package batching

import (
	"context"
	"fmt"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"weir.dev/weir/internal/provider"
)

const (
	// patience is how long a plugin may take to say that it has no such service.
	patience = 5 * time.Second
	// mostBytes of requests are in a call: answers about as large have to fit in a message.
	mostBytes = 32 << 20
	// mostRequests is what a call has, whatever a plugin says.
	mostRequests = 1000
)

// Limits is what a plugin says of the service, once it was asked.
type Limits struct {
	once  sync.Once
	all   limits
	types map[string]limits
}

// Of reports how many requests about a type a call may have. A plugin that has no answer, or
// another than it was asked for, has no batches.
func (l *Limits) Of(ctx context.Context, conn grpc.ClientConnInterface, typ string) provider.Batches {
	l.once.Do(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
		defer cancel()
		var m message
		if err := conn.Invoke(ctx, service+"Describe", &message{}, &m, grpc.ForceCodecV2(plain{})); err != nil {
			return
		}
		if all, types, err := described(m.data); err == nil {
			l.all, l.types = all, types
		}
	})
	of, own := l.types[typ]
	if !own {
		of = l.all
	}
	most := func(n uint64) int { return int(min(n, mostRequests)) } // #nosec G115 -- it is small
	return provider.Batches{Read: most(of.read), Plan: most(of.plan), Apply: most(of.apply)}
}

const service = "/weir.batch.v1.Batch/"

// A Method is one of the service.
type Method string

// The methods.
const (
	Read  Method = service + "ReadResources"
	Plan  Method = service + "PlanResourceChanges"
	Apply Method = service + "ApplyResourceChanges"
)

// Calls say how requests become calls.
type Calls[Q, R any] struct {
	Conn   grpc.ClientConnInterface
	Method Method
	Type   string
	// Write gives the bytes of a request and what makes its response of an answer, or of the
	// error in the place of one. Without the latter the request isn't sent with others.
	Write func(Q) ([]byte, func([]byte, error) R)
	// Alone is the ordinary call.
	Alone func(context.Context, Q) R
	// Again: requests may be sent again, because they change nothing.
	Again bool
}

// Do makes as few calls as their size allows. The responses are in the order of the requests.
func (c Calls[Q, R]) Do(ctx context.Context, rs []Q) []R {
	out := make([]R, len(rs))
	p := parcel[R]{}
	send := func() {
		for n, r := range c.send(ctx, rs, p) {
			out[p.which[n]] = r
		}
		p = parcel[R]{}
	}
	for i, r := range rs {
		data, take := c.Write(r)
		if take == nil {
			out[i] = c.Alone(ctx, r)
			continue
		}
		if p.size+len(data) > mostBytes {
			send()
		}
		p.which, p.takes, p.messages = append(p.which, i), append(p.takes, take), append(p.messages, data)
		p.size += len(data)
	}
	send()
	return out
}

// A parcel is what one call has.
type parcel[R any] struct {
	which    []int // of the requests
	takes    []func([]byte, error) R
	messages [][]byte
	size     int
}

func (c Calls[Q, R]) send(ctx context.Context, rs []Q, p parcel[R]) []R {
	if len(p.which) == 0 {
		return nil
	}
	var reply message
	err := c.Conn.Invoke(ctx, string(c.Method), requests(c.Type, p.messages), &reply, grpc.ForceCodecV2(plain{}))
	var answers []outcome
	if err == nil {
		answers, err = outcomes(reply.data)
	}
	if err == nil && len(answers) != len(p.which) {
		err = status.Error(codes.Internal, fmt.Sprintf("%d requests were answered by %d messages", len(p.which), len(answers)))
	}
	out := make([]R, len(p.which))
	if err != nil && ctx.Err() == nil && (c.Again || status.Code(err) == codes.Unimplemented) {
		// Anything that is wrong with one of them may be wrong with only it. They were to be
		// made at the same time.
		var all sync.WaitGroup
		for n, i := range p.which {
			all.Go(func() { out[n] = c.Alone(ctx, rs[i]) })
		}
		all.Wait()
		return out
	}
	for n, take := range p.takes {
		if err != nil {
			out[n] = take(nil, err)
			continue
		}
		out[n] = take(answers[n].response, answers[n].err)
	}
	return out
}
