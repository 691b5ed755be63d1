package testservers

import (
	"io"
	"net"
	"net/http/httptest"
	"testing"
)

// A client that is killed while it sends leaves the object as it was.
func TestEndedWhileSending(t *testing.T) {
	bucket := &Google{}
	bucket.Put("state", []byte("whole"))
	server := httptest.NewServer(bucket)
	t.Cleanup(server.Close)
	for _, body := range []string{
		"Content-Length: 100\r\n\r\npart",
		"Transfer-Encoding: chunked\r\n\r\n4\r\npart\r\n",
	} {
		conn, err := net.Dial("tcp", server.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(conn, "POST /upload/storage/v1/b/states/o?name=state HTTP/1.1\r\nHost: states\r\n"+body); err != nil {
			t.Fatal(err)
		}
		_ = conn.(*net.TCPConn).CloseWrite()
		_, _ = io.ReadAll(conn) // until the server has closed its side
		if got, _ := bucket.Object("state"); string(got) != "whole" {
			t.Errorf("%q: the object is %q", body, got)
		}
		_ = conn.Close()
	}
}
