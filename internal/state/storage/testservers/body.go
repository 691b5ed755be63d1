package testservers

import (
	"io"
	"net/http"
)

// bodyOf reads the body of a request. If the client ended while it sent, the request has no
// effect, as with a real service, which never keeps a part of an object.
func bodyOf(r *http.Request) []byte {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	return body
}
