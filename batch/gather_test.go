package batch_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"google.golang.org/protobuf/types/known/wrapperspb"

	"weir.dev/weir/batch"
	"weir.dev/weir/batch/batchv1"
)

// catalog is a service that has many things by name, each in capitals.
type catalog struct {
	mu    sync.Mutex
	calls []string
}

func (c *catalog) fetch(_ context.Context, keys []string) (map[string]string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	keys = slices.Sorted(slices.Values(keys))
	c.calls = append(c.calls, strings.Join(keys, "+"))
	out := map[string]string{}
	for _, k := range keys {
		switch k {
		case "down":
			return nil, errors.New("the catalog is down")
		case "crash":
			panic("the catalog crashed")
		case "none":
		default:
			out[k] = strings.ToUpper(k)
		}
	}
	return out, nil
}

// reader is a provider that asks the catalog once for each word of an object's text.
type reader struct {
	g *batch.Gatherer[string, string]
}

func (r reader) ReadResource(ctx context.Context, in *text) (*text, error) {
	var found []string
	for _, word := range strings.Fields(in.Value) {
		v, ok, err := r.g.Get(ctx, word)
		switch {
		case err != nil:
			return nil, err
		case !ok:
			v = "-"
		}
		found = append(found, v)
	}
	return wrapperspb.String(strings.Join(found, ",")), nil
}

// TestGather: requests of a batch share calls, however many of them there are at once.
func TestGather(t *testing.T) {
	for _, tt := range []struct {
		atOnce, most int
		texts        []string
		answers      string
		calls        []string // nil is for any
	}{
		{0, 0, []string{"a", "b", "a", ""}, "A B A", []string{"a+b"}},
		{0, 0, []string{"a x", "b y", "c"}, "A,X B,Y C", []string{"a+b+c", "x+y"}},
		{0, 2, []string{"a", "b", "c"}, "A B C", nil},
		{2, 0, []string{"a", "b", "c", "d"}, "A B C D", nil},
		{1, 0, []string{"a x", "b"}, "A,X B", []string{"a", "x", "b"}},
		{0, 0, []string{"none", "b"}, "- B", []string{"b+none"}},
		{0, 0, []string{"down", "b"}, "error the catalog is down error the catalog is down", nil},
		{0, 0, []string{"crash", "b"}, "error panic: the catalog crashed error panic: the catalog crashed", nil},
	} {
		t.Run(fmt.Sprint(tt.atOnce, tt.most, tt.texts), func(t *testing.T) {
			c := &catalog{}
			g := &batch.Gatherer[string, string]{Fetch: c.fetch, Most: tt.most}
			s := &batch.Service{AtOnce: tt.atOnce}
			conn := serveAs(t, s, reader{g})
			var alone text
			if err := conn.Invoke(t.Context(), "/tfplugin6.Provider/ReadResource", wrapperspb.String("own"), &alone); err != nil || alone.Value != "OWN" {
				t.Fatal(alone.Value, err)
			}
			a, err := batchv1.NewBatchClient(conn).ReadResources(t.Context(), requests(t, tt.texts...))
			if got := told(t, a); got != tt.answers || err != nil {
				t.Errorf("%q, %v", got, err)
			}
			if got := c.calls[1:]; tt.calls != nil && !slices.Equal(got, tt.calls) {
				t.Errorf("%q", got)
			}
		})
	}
}
