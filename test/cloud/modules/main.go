// Package main compares weir with another program on the examples and roots of public AWS
// modules: validation, plans and plan JSON.
//
// The repositories are given as a directory of git clones; nothing of them is
// kept in the project. Results are kept per engine and example, so that a run
// can be stopped and taken up again, and a new build of one engine doesn't make
// the other one run again.
package main

import (
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"weir.dev/aws/cloud"
	"weir.dev/aws/modreg"
)

func main() {
	log.SetFlags(0)
	var (
		repos   = flag.String("repos", "", "directory of clones named OWNER+terraform-PROVIDER-NAME, git directories or work trees")
		engine  = flag.String("engine", "bin/weir", "the program under test")
		peer    = flag.String("peer", "", "the engine that it is compared with")
		mirror  = flag.String("mirror", "", "filesystem mirror of providers, hashicorp/aws among them")
		server  = flag.String("server", "", "base URL of a small AWS with a module registry at /modreg/; without one it is served here")
		out     = flag.String("out", ".cache/aws-modules", "where trees and results are kept")
		run     = flag.String("run", "", "only examples whose name matches")
		p       = flag.Int("p", 1, "examples at once")
		limit   = flag.Duration("timeout", 4*time.Minute, "limit for one command")
		only    = flag.String("only", "", "engine or peer: run only this one")
		compare = flag.Bool("compare", false, "run nothing, compare what is there")
		report  = flag.String("report", "", "write the result there as Markdown")
		list    = flag.Bool("list", false, "list the examples and end")
	)
	flag.Parse()
	work, err := filepath.Abs(*out)
	check(err)
	pattern, err := regexp.Compile(*run)
	check(err)
	if *server == "" {
		*server, err = serve(*repos, work)
		check(err)
	}
	set, err := findExamples(*repos, *server, work)
	check(err)
	var examples []Example
	for _, e := range set {
		if pattern.MatchString(e.Name()) {
			examples = append(examples, e)
		}
	}
	if *list {
		for _, e := range examples {
			fmt.Println(e.Name(), e.Tag)
		}
		return
	}
	engines := map[string]*Engine{}
	for name, bin := range map[string]string{"peer": *peer, "engine": *engine} {
		engines[name], err = newEngine(name, bin, work)
		check(err)
	}
	if !*compare {
		env, err := environment(work, *repos, *mirror, *server)
		check(err)
		r := runner{work: work, env: env, limit: *limit}
		for _, name := range []string{"peer", "engine"} {
			if *only == "" || *only == name {
				todo := examples
				if name == "engine" { // there is something to compare with
					todo = slices.DeleteFunc(slices.Clone(examples), func(x Example) bool { return !engines["peer"].has(x) })
				}
				r.all(engines[name], todo, min(*p, runtime.NumCPU()))
			}
		}
	}
	known, err := readKnown()
	check(err)
	var results []Comparison
	for _, e := range examples {
		if c, ok := compareExample(e, engines["peer"], engines["engine"], known); ok {
			results = append(results, c)
			check(c.write(filepath.Join(work, "differences", e.File()+".txt")))
		}
	}
	text := reportText(results, known)
	fmt.Print(text)
	if *report != "" {
		check(os.WriteFile(*report, []byte(text), 0o644))
	}
}

// serve is a small AWS with a registry of the clones, until the program ends.
func serve(repos, work string) (string, error) {
	if err := os.MkdirAll(work, 0o755); err != nil {
		return "", err
	}
	to, err := os.OpenFile(filepath.Join(work, "server.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return "", err
	}
	const prefix, release = "/modreg/", "5.100.0"
	modules, err := modreg.New(repos, filepath.Join(work, "archives"), prefix, "aws", release, to)
	if err != nil {
		return "", err
	}
	aws := cloud.New(to)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	go func() {
		log.Fatal(http.Serve(listener, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.HasPrefix(r.URL.Path, prefix) {
				modules.ServeHTTP(w, r)
			} else {
				aws.ServeHTTP(w, r)
			}
		})))
	}()
	return "http://" + listener.Addr().String(), nil
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// all runs the examples whose results aren't there yet.
func (r runner) all(e *Engine, examples []Example, p int) {
	var wg sync.WaitGroup
	next := make(chan int)
	for range max(p, 1) {
		wg.Go(func() {
			for n := range next {
				x := examples[n]
				start := time.Now()
				if e.has(x) {
					continue
				}
				if err := r.run(e, x); err != nil {
					log.Printf("%s %s: %v", e.Name, x.Name(), err)
					continue
				}
				res, _ := e.load(x)
				log.Printf("%s %d/%d %s %v: %s", e.Name, n+1, len(examples), x.Name(), time.Since(start).Round(time.Second), res.summary())
			}
		})
	}
	for n := range examples {
		next <- n
	}
	close(next)
	wg.Wait()
}
