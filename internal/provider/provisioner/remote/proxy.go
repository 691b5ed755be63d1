package remote

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
)

// A proxy makes connections for others, asked with CONNECT.
type proxy struct {
	scheme, host   string
	port           int
	user, password string
}

func (p *proxy) address() string { return net.JoinHostPort(p.host, strconv.Itoa(p.port)) }

func (p *proxy) dial(ctx context.Context, address string) (net.Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", p.address())
	if err != nil {
		return nil, fmt.Errorf("the proxy can't be reached: %w", err)
	}
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	if p.scheme == "https" {
		conn = tls.Client(conn, &tls.Config{ServerName: p.host})
	}
	request := &http.Request{Method: http.MethodConnect, URL: &url.URL{Opaque: address}, Host: address, Header: http.Header{}}
	if p.user != "" {
		request.SetBasicAuth(p.user, p.password)
		request.Header["Proxy-Authorization"] = request.Header["Authorization"]
		delete(request.Header, "Authorization")
	}
	if err := request.Write(conn); err != nil {
		conn.Close()
		return nil, fmt.Errorf("the proxy %s: %w", p.address(), err)
	}
	r := bufio.NewReader(conn)
	response, err := http.ReadResponse(r, request)
	if err != nil {
		conn.Close()
		return nil, fmt.Errorf("the proxy %s: %w", p.address(), err)
	}
	if response.StatusCode != http.StatusOK {
		conn.Close()
		return nil, fmt.Errorf("the proxy %s answers %s", p.address(), response.Status)
	}
	return buffered{conn, r}, nil
}

// buffered is a connection of which something was read already.
type buffered struct {
	net.Conn
	r *bufio.Reader
}

func (b buffered) Read(into []byte) (int, error) { return b.r.Read(into) }
