package command

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"runtime"
	"strconv"
	"time"

	"weir.dev/weir/temporal/depot"
	"weir.dev/weir/temporal/flow"
	"weir.dev/weir/temporal/serve"
)

func workerFlags(f *flag.FlagSet, s *settings) {
	f.StringVar(&s.listen, "listen", "127.0.0.1", "Listen on `IP`; only in trusted networks, as nothing is encrypted.")
	f.IntVar(&s.parallelism, "parallelism", 2*runtime.NumCPU(), "Limit concurrent steps of this worker.")
	f.IntVar(&s.port, "port", temporalPort, "Run the server at `PORT`, and the store at the next one.")
	f.BoolVar(&s.serveOnly, "only-serve", false, "Run the server and the store for other workers, and no steps.")
	f.DurationVar(&s.lease, "lease", 15*time.Second, "Treat an unreachable worker as dead after `DURATION`.")
}

// runWorker runs a worker until the context ends.
func runWorker(ctx context.Context, s *settings) error {
	if s.parallelism < 1 {
		return fmt.Errorf("-parallelism is %d; it has to be 1 or more", s.parallelism)
	}
	own := s.address == "" && s.environ["TEMPORAL_ADDRESS"] == ""
	if own {
		stop, err := s.serve()
		if err != nil {
			return err
		}
		defer stop()
	}
	if s.serveOnly {
		if !own {
			return errors.New("-only-serve makes no sense with a server that is elsewhere")
		}
		<-ctx.Done()
		return nil
	}
	d, err := s.depot()
	if err != nil {
		return err
	}
	if _, err := d.Files(ctx, "weir"); err != nil {
		return fmt.Errorf("the store can't be used: %w. Say where it is with -store=DIRECTORY, or with -store=URL and WEIR_STORE_TOKEN", err)
	}
	c, err := s.dial(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	w, err := s.worker(d, s.err)
	if err != nil {
		return err
	}
	running := flow.NewWorker(c, w, s.parallelism)
	if err := running.Start(); err != nil {
		return err
	}
	fmt.Fprintf(s.out, "The worker is ready. Interrupt it to stop it; others then take over its work.\n")
	<-ctx.Done()
	running.Stop()
	return nil
}

// serve runs Temporal and a store in this process.
func (s *settings) serve() (stop func(), err error) {
	if s.store != "" {
		return nil, errors.New("a worker with a server of its own has a store of its own. Leave -store and WEIR_STORE out, or say where Temporal is with -temporal=ADDRESS")
	}
	token, err := s.token(true)
	if err != nil {
		return nil, err
	}
	namespace := s.namespace
	if namespace == "" {
		namespace = "default"
	}
	if err := serve.Free(s.listen, s.port+1); err != nil {
		return nil, err
	}
	end, err := serve.Start(serve.Options{File: filepath.Join(s.data, "temporal.db"), IP: s.listen, Port: s.port, Namespace: namespace, Token: token})
	if err != nil {
		return nil, err
	}
	at := net.JoinHostPort(s.listen, strconv.Itoa(s.port+1))
	l, err := net.Listen("tcp", at)
	if err != nil {
		end()
		return nil, err
	}
	dir := &depot.Dir{Root: filepath.Join(s.data, "store")}
	mux := http.NewServeMux()
	mux.Handle(depot.StatesPath, depot.States(dir, token))
	mux.Handle("/", depot.Serve(dir, token))
	server := &http.Server{Handler: mux, ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(l) }()
	fmt.Fprintf(s.out, "Temporal answers at %s:%d and the store at http://%s, both with what is in %s.\n", s.listen, s.port, at, s.data)
	if !s.serveOnly {
		s.address, s.store = fmt.Sprintf("%s:%d", s.listen, s.port), "http://"+at
	}
	return func() {
		server.Close()
		end()
	}, nil
}
