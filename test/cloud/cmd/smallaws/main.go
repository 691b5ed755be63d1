// Smallaws serves a small AWS on loopback and, with clones of public modules, a module
// registry under /modreg/. It prints its address and runs until an interrupt.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"weir.dev/aws/cloud"
	"weir.dev/aws/modreg"
)

func main() {
	port := flag.Int("port", 0, "the port to listen at; 0 takes any")
	repos := flag.String("repos", "", "`directory` of clones named OWNER+terraform-PROVIDER-NAME for the module registry")
	cache := flag.String("cache", filepath.Join(os.TempDir(), "smallaws"), "`directory` for archives of modules")
	logFile := flag.String("log", "", "`file` for requests without an answer or with a rejection")
	provider := flag.String("provider", "5.100.0", "the `release` of hashicorp/aws that the listed versions of modules have to admit")
	flag.Parse()
	if err := serve(*port, *repos, *cache, *logFile, *provider); err != nil {
		fmt.Fprintln(os.Stderr, "smallaws:", err)
		os.Exit(1)
	}
}

func serve(port int, repos, cache, logFile, provider string) error {
	var log io.Writer = io.Discard
	if logFile != "" {
		f, err := os.OpenFile(logFile, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o666)
		if err != nil {
			return err
		}
		defer f.Close()
		log = &lines{to: f}
	}
	aws := cloud.New(log)
	handler := http.Handler(aws)
	if repos != "" {
		const prefix = "/modreg/"
		modules, err := modreg.New(repos, cache, prefix, "aws", provider, log)
		if err != nil {
			return err
		}
		// Not a mux, which redirects paths with double slashes: keys of objects have them.
		handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.HasPrefix(r.URL.Path, prefix) {
				modules.ServeHTTP(w, r)
			} else {
				aws.ServeHTTP(w, r)
			}
		})
	}
	listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return err
	}
	fmt.Printf("http://%s\n", listener.Addr())
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	server := &http.Server{Handler: handler}
	go func() {
		<-ctx.Done()
		_ = server.Close()
	}()
	if err := server.Serve(listener); err != http.ErrServerClosed {
		return err
	}
	return nil
}

// lines writes whole lines to a file that two handlers share.
type lines struct {
	mu sync.Mutex
	to io.Writer
}

func (l *lines) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.to.Write(line)
}
