package telemetry

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"

	"weir.dev/weir/internal/net/sameorigin"
	"weir.dev/weir/internal/net/useragent"
)

// A sender brings requests to the server of one signal.
type sender struct {
	signal  string // traces or metrics
	grpc    bool
	url     *url.URL
	headers [][2]string // may be secrets
	timeout time.Duration
	packed  bool // requests are compressed
	tls     *tls.Config

	client *http.Client
	conn   *grpc.ClientConn
}

// pauses are how long is waited before what a busy server didn't take is sent again.
var pauses = []time.Duration{200 * time.Millisecond, time.Second}

// errBusy is the error of a request that may be made again.
var errBusy = errors.New("the server is busy")

// send sends a request, again where the server asks for that.
func (s *sender) send(ctx context.Context, request []byte) error {
	for _, pause := range pauses {
		err := s.once(ctx, request)
		if !errors.Is(err, errBusy) {
			return err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return err
		}
	}
	return s.once(ctx, request)
}

func (s *sender) once(ctx context.Context, request []byte) error {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	if s.grpc {
		return s.call(ctx, request)
	}
	return s.post(ctx, request)
}

func (s *sender) post(ctx context.Context, request []byte) error {
	if s.client == nil {
		plain := &http.Client{}
		if s.tls != nil {
			transport := http.DefaultTransport.(*http.Transport).Clone()
			transport.TLSClientConfig = s.tls
			plain.Transport = transport
		}
		s.client = useragent.Client(sameorigin.Stay(plain), useragent.Name(nil))
	}
	var body bytes.Buffer
	if s.packed {
		z := gzip.NewWriter(&body)
		_, _ = z.Write(request) // into memory
		_ = z.Close()
	} else {
		body.Write(request)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url.String(), &body)
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/x-protobuf")
	if s.packed {
		r.Header.Set("Content-Encoding", "gzip")
	}
	for _, h := range s.headers {
		r.Header.Set(h[0], h[1])
	}
	answer, err := s.client.Do(r)
	if err != nil {
		var failed *url.Error
		if errors.As(err, &failed) {
			err = failed.Err // the URL may have a password
		}
		return fmt.Errorf("%s: %w", s.url.Host, err)
	}
	defer answer.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(answer.Body, 1<<20)) // so that the connection stays
	switch answer.StatusCode {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return fmt.Errorf("%s: %w (%s)", s.url.Host, errBusy, answer.Status)
	}
	if answer.StatusCode/100 != 2 {
		return fmt.Errorf("%s answers %s", s.url.Host, answer.Status)
	}
	return nil
}

// raw has gRPC send bytes as they are.
type raw struct{}

func (raw) Name() string                       { return "proto" }
func (raw) Marshal(v any) ([]byte, error)      { return *v.(*[]byte), nil }
func (raw) Unmarshal(data []byte, v any) error { *v.(*[]byte) = data; return nil }

// services are the methods of OTLP over gRPC, by signal.
var services = map[string]string{
	"traces":  "/opentelemetry.proto.collector.trace.v1.TraceService/Export",
	"metrics": "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export",
}

func (s *sender) call(ctx context.Context, request []byte) error {
	if s.conn == nil {
		secured := insecure.NewCredentials()
		if s.url.Scheme == "https" {
			secured = credentials.NewTLS(s.tls)
		}
		host := s.url.Host
		if s.url.Port() == "" {
			host += ":4317"
		}
		conn, err := grpc.NewClient(host, grpc.WithTransportCredentials(secured), grpc.WithUserAgent(useragent.Name(nil)))
		if err != nil {
			return err
		}
		s.conn = conn
	}
	for _, h := range s.headers {
		ctx = metadata.AppendToOutgoingContext(ctx, h[0], h[1])
	}
	var answer []byte
	if err := s.conn.Invoke(ctx, services[s.signal], &request, &answer, grpc.ForceCodec(raw{})); err != nil {
		return fmt.Errorf("%s: %w", s.url.Host, err)
	}
	return nil
}
