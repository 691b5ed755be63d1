// Package browser tests the page of weir ui in a real browser: plan, approval, apply, failure,
// discard, changed files, and many objects.
//
// It drives the program in WEIR as people do. Without Chromium its tests are skipped.
package browser

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// patience is how long anything may take before a test is given up: no test depends on
// how long it does.
const patience = 3 * time.Minute

// tab opens a tab whose page must not complain.
func tab(t *testing.T) context.Context {
	t.Helper()
	path, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("there is no chromium")
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.WindowSize(1280, 860), chromedp.WSURLReadTimeout(patience))
	ctx, cancel = chromedp.NewExecAllocator(ctx, options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	chromedp.ListenTarget(ctx, func(e any) {
		switch e := e.(type) {
		case *runtime.EventExceptionThrown:
			t.Errorf("the page throws %s", e.ExceptionDetails.Error())
		case *log.EventEntryAdded:
			// The stream ends with the run; an answer that is rejected is one of the tests.
			if e.Entry.Level == log.LevelError && !strings.Contains(e.Entry.Text, "ERR_") && !strings.Contains(e.Entry.Text, "409") {
				t.Errorf("the page logs %s", e.Entry.Text)
			}
		}
	})
	return ctx
}

// A run is weir ui in a directory.
type run struct {
	t       *testing.T
	dir     string
	address string
	cmd     *exec.Cmd
}

func weir(t *testing.T, config string, args ...string) *run {
	t.Helper()
	r := &run{t: t, dir: t.TempDir()}
	r.write(config)
	r.run(args...)
	return r
}

// run begins weir ui in the directory.
func (r *run) run(args ...string) {
	r.t.Helper()
	r.start(append([]string{"ui"}, args...)...)
}

// program is what is inspected.
func program(t *testing.T) string {
	t.Helper()
	program := os.Getenv("WEIR")
	if program == "" {
		t.Skip("WEIR names no program: make page does")
	}
	return program
}

// start begins a command that serves a page.
func (r *run) start(args ...string) {
	r.t.Helper()
	cmd := exec.Command(program(r.t), args...)
	cmd.Dir, cmd.Stderr = r.dir, os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		r.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	r.cmd, r.address = cmd, ""
	r.t.Cleanup(func() { _ = cmd.Process.Kill() })
	lines := bufio.NewScanner(out)
	for r.address == "" && lines.Scan() {
		r.address = regexp.MustCompile(`http://\S+`).FindString(lines.Text())
	}
	go func() {
		for lines.Scan() {
			// what the terminal shows has tests of its own
		}
	}()
}

func (r *run) write(config string) {
	r.t.Helper()
	if err := os.WriteFile(filepath.Join(r.dir, "main.tf"), []byte(config), 0o644); err != nil {
		r.t.Fatal(err)
	}
}

// code waits for the end.
func (r *run) code() int {
	_ = r.cmd.Wait()
	return r.cmd.ProcessState.ExitCode()
}

func do(t *testing.T, ctx context.Context, actions ...chromedp.Action) {
	t.Helper()
	if err := chromedp.Run(ctx, actions...); err != nil {
		t.Fatal(err)
	}
}

// says waits until a part of the page has a text.
func says(selector, text string) chromedp.Action {
	return chromedp.Poll(fmt.Sprintf("(document.querySelector(%q)||{}).innerText?.includes(%q)", selector, text), nil, chromedp.WithPollingTimeout(patience))
}

func button(choice string) string { return "button[data-choice=" + choice + "]" }

// shot keeps a picture where SHOTS names a directory.
func shot(t *testing.T, name string) chromedp.Action {
	return chromedp.ActionFunc(func(ctx context.Context) error {
		dir := os.Getenv("SHOTS")
		if dir == "" {
			return nil
		}
		var data []byte
		if err := chromedp.CaptureScreenshot(&data).Do(ctx); err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(dir, name+".png"), data, 0o644)
	})
}

func scheme(name string) chromedp.Action {
	return emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: name}})
}

const small = `
variable "size" {
  default = 3
}
variable "password" {
  default   = "hunter2hunter2"
  sensitive = true
}
resource "terraform_data" "net" {
  input = "10.0.0.0/16"
}
resource "terraform_data" "node" {
  count = var.size
  input = "${terraform_data.net.output}-${count.index}"
}
resource "terraform_data" "user" {
  input      = var.password
  depends_on = [terraform_data.node]
}
`

func TestApprove(t *testing.T) {
	ctx := tab(t)
	r := weir(t, small)
	do(t, ctx, chromedp.Navigate(r.address), chromedp.WaitVisible(button("approve")), says("h1", "Plan: 5 to add"))
	// Another size is planned again, and the page queries that plan.
	r.write(strings.Replace(small, "default = 3", "default = 40", 1))
	do(t, ctx, says("h1", "Plan: 42 to add"), chromedp.WaitVisible(button("approve")), chromedp.Sleep(time.Second), shot(t, "light"),
		scheme("dark"), shot(t, "dark"), scheme("light"),
		chromedp.EmulateViewport(400, 800), shot(t, "narrow"), chromedp.EmulateViewport(1280, 860))
	var wide bool
	do(t, ctx, chromedp.EmulateViewport(360, 700), chromedp.Evaluate("document.documentElement.scrollWidth > innerWidth", &wide), chromedp.EmulateViewport(1280, 860))
	if wide {
		t.Error("a narrow page has to be scrolled sideways")
	}
	// Keys are enough: the first answer is the next to the link that leads to it.
	var focused string
	do(t, ctx, chromedp.KeyEvent("\t"), chromedp.KeyEvent("\t"), chromedp.Evaluate("document.activeElement.dataset.choice || document.activeElement.id", &focused))
	if focused != "approve" && focused != "answers" {
		t.Errorf("the keys lead to %q", focused)
	}
	do(t, ctx, chromedp.Click(button("approve")), says("h1", "Apply complete! Resources: 42 added"), says("#status", "42 of 42 done"), shot(t, "done"))
	if code := r.code(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

func TestPlan(t *testing.T) {
	ctx := tab(t)
	r := weir(t, small)
	var text string
	do(t, ctx, chromedp.Navigate(r.address), chromedp.WaitVisible(button("refuse")),
		chromedp.Navigate(r.address+"plan/1"), chromedp.Click(".row summary"), chromedp.WaitVisible(".row .diff"), chromedp.Evaluate("document.documentElement.innerHTML", &text))
	if !strings.Contains(text, "terraform_data.node") || strings.Contains(text, "hunter2") {
		t.Errorf("the plan is %.2000s", text)
	}
	// The framed plan shows itself, too, although it may not see the page around it.
	do(t, ctx, chromedp.Navigate(r.address), chromedp.WaitVisible(button("refuse")), chromedp.WaitVisible("iframe#plan"),
		chromedp.Click(button("refuse")), says("h1", "Discarded"), says("#end", "Nothing was changed"), shot(t, "discarded"),
		// It is planned again without another start.
		chromedp.Click(button("again")), chromedp.WaitVisible(button("approve")), chromedp.Click(button("refuse")), chromedp.WaitVisible(button("end")), chromedp.Click(button("end")))
	if code := r.code(); code != 1 {
		t.Errorf("exit code %d", code)
	}
}

func TestFailure(t *testing.T) {
	ctx := tab(t)
	r := weir(t, `
resource "terraform_data" "good" {
  input = "a"
}
resource "terraform_data" "slow" {
  provisioner "local-exec" {
    command = "while ! test -e go; do sleep 0.1; done; echo no route to host >&2; exit 3"
  }
}
resource "terraform_data" "after" {
  input = terraform_data.slow.id
}
`)
	do(t, ctx, chromedp.Navigate(r.address), chromedp.WaitVisible(button("approve")), chromedp.Click(button("approve")),
		says("#running", "terraform_data.slow"), shot(t, "running"))
	if err := os.WriteFile(filepath.Join(r.dir, "go"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	do(t, ctx, says("h1", "Apply failed"), says("#problems", "exit status 3"), says("#end", "1 of 3 done"), says("#end", "because of terraform_data.slow"), says("#end", "weir apply"), shot(t, "failed"),
		says("#failures", "failed while provisioning"), scheme("dark"), shot(t, "failed-dark"), scheme("light"))
	// Anything that is mended meanwhile is planned again, in the same page.
	r.write("resource \"terraform_data\" \"good\" {\n  input = \"a\"\n}\n")
	do(t, ctx, says("h1", "Plan: 0 to add, 0 to change, 1 to destroy"), chromedp.WaitVisible(button("approve")), shot(t, "again"), chromedp.Click(button("approve")), says("h1", "Apply complete!"))
	if code := r.code(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// TestStop: the page stops an apply, which is planned again in it, and shows in the frame of
// the plan what becomes of each object.
func TestStop(t *testing.T) {
	ctx := tab(t)
	r := weir(t, `
resource "terraform_data" "slow" {
  provisioner "local-exec" {
    command = "while ! test -e go; do sleep 0.1; done"
  }
}
resource "terraform_data" "after" {
  input = terraform_data.slow.id
}
`)
	do(t, ctx, chromedp.Navigate(r.address), chromedp.WaitVisible(button("approve")), chromedp.Click(button("approve")),
		says("#running", "terraform_data.slow"), says("#running", "provisioning"), chromedp.WaitVisible("#stop", chromedp.ByQuery), chromedp.Sleep(1500*time.Millisecond), shot(t, "live"),
		chromedp.Click("#stop", chromedp.ByQuery), says("#stop", "Stop now"), says("#status", "Stopping"), shot(t, "stopping"))
	if err := os.WriteFile(filepath.Join(r.dir, "go"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	do(t, ctx, says("h1", "Apply failed"), chromedp.WaitVisible(button("again")), shot(t, "stopped"), chromedp.Click(button("again")),
		says("h1", "Plan: 2 to add"), chromedp.WaitVisible(button("approve")), chromedp.Click(button("approve")), says("h1", "Apply complete!"))
	if code := r.code(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

func TestBroken(t *testing.T) {
	ctx := tab(t)
	r := weir(t, "resource \"terraform_data\" \"a\" {\n  input = nosuch.thing\n}\n")
	do(t, ctx, chromedp.Navigate(r.address), says("h1", "Planning failed"), says("#problems", "nosuch"), chromedp.WaitVisible(button("end")), shot(t, "broken"))
	r.write("resource \"terraform_data\" \"a\" {\n}\n")
	do(t, ctx, says("h1", "Plan: 1 to add"), chromedp.Click(button("approve")), says("h1", "Apply complete!"))
	if code := r.code(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// TestMany: 2,000 blocks are planned, looked at late by a page that is loaded again, and
// applied.
func TestMany(t *testing.T) {
	ctx := tab(t)
	var config strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&config, "resource \"terraform_data\" \"n%d\" {\n  input = %s\n}\n", i, input(i))
	}
	r := weir(t, config.String())
	do(t, ctx, chromedp.Navigate(r.address), says("h1", "Plan: 2000 to add"), chromedp.WaitVisible(button("approve")), shot(t, "many"))
	var paint, rows float64
	do(t, ctx, chromedp.Navigate(r.address), chromedp.WaitVisible(button("approve")),
		chromedp.Evaluate("performance.getEntriesByName('first-contentful-paint')[0]?.startTime || 0", &paint))
	do(t, ctx, chromedp.Navigate(r.address+"plan/1"), chromedp.WaitVisible(".fold", chromedp.ByQuery), shot(t, "folded"), chromedp.Evaluate("document.querySelectorAll('.row').length", &rows))
	if rows != 2000 {
		t.Errorf("%.0f rows", rows)
	}
	var painted float64
	do(t, ctx, chromedp.Evaluate("performance.getEntriesByName('first-contentful-paint')[0]?.startTime || 0", &painted))
	t.Logf("first paint after %.0f ms, of the plan after %.0f ms", paint, painted)
	do(t, ctx, chromedp.Navigate(r.address), chromedp.Click(button("approve")), says("h1", "Apply complete! Resources: 2000 added"), says("#status", "2000 of 2000 done"))
	if code := r.code(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// input has every block but a few refer to an earlier one.
func input(i int) string {
	if i%40 == 0 {
		return fmt.Sprintf("%q", fmt.Sprint("first ", i))
	}
	return fmt.Sprintf("terraform_data.n%d.output", i-1-i%7%(1+i%40/7))
}

// TestBefore: the configuration is there before a plan is, and the page goes back to an earlier
// state, with what that changes, before it plans again.
func TestBefore(t *testing.T) {
	ctx := tab(t)
	r := weir(t, small)
	do(t, ctx, chromedp.Navigate(r.address), chromedp.WaitVisible(button("approve")))
	var graph string
	do(t, ctx, chromedp.Navigate(r.address+"graph/1"), chromedp.WaitVisible("#graph svg"), chromedp.Evaluate("document.body.innerText", &graph), shot(t, "graph"), chromedp.Navigate(r.address), chromedp.Click(button("approve")), says("h1", "Apply complete!"), says("#times", "create terraform_data.node"), shot(t, "lived"), scheme("dark"), shot(t, "lived-dark"), scheme("light"))
	if !strings.Contains(graph, "terraform_data.node") {
		t.Errorf("the graph is %s", graph)
	}
	if code := r.code(); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	r.write(strings.Replace(small, "default = 3", "default = 1", 1))
	r.run("-auto-approve")
	if code := r.code(); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	r.run()
	open := "document.querySelector('#earlier').open = true"
	do(t, ctx, chromedp.Navigate(r.address), chromedp.WaitVisible(button("end")))
	do(t, ctx, says("h1", "No changes"))
	do(t, ctx, chromedp.WaitVisible("#earlier", chromedp.ByQuery), chromedp.Evaluate(open, nil), says("#earlier", "Serial 1: 5 objects"))
	do(t, ctx, chromedp.Click("#earlier details summary", chromedp.ByQuery), says("#earlier", "+ terraform_data.node[2]"),
		shot(t, "earlier"), scheme("dark"), shot(t, "earlier-dark"), scheme("light"),
		chromedp.Click("#earlier details button", chromedp.ByQuery), says("h1", "Plan: 0 to add, 0 to change, 2 to destroy"), says("#status", "Nothing is done"), chromedp.WaitVisible(button("refuse")), shot(t, "back"),
		chromedp.Click(button("refuse")), says("h1", "Discarded"), chromedp.WaitVisible(button("end")), chromedp.Click(button("end")))
	if code := r.code(); code != 1 {
		t.Errorf("exit code %d", code)
	}
}

// TestBoard: the deployments of a stack are cards. Each leads to a page that takes the answer,
// and its card follows; the pages stay until somebody ends that.
func TestBoard(t *testing.T) {
	ctx := tab(t)
	r := &run{t: t, dir: t.TempDir()}
	for name, text := range map[string]string{
		"main.tfcomponent.hcl": `
required_providers {
  terraform = { source = "terraform.io/builtin/terraform" }
}
provider "terraform" "this" {}
variable "size" {
  type = number
}
variable "bad" {
  type = bool
}
component "net" {
  source    = "./net"
  inputs    = { size = var.size, bad = var.bad }
  providers = { terraform = provider.terraform.this }
}
`,
		"main.tfdeploy.hcl": `
deployment "canary" {
  inputs = { size = 2, bad = false }
}
deployment "east" {
  inputs = { size = 3, bad = true }
}
deployment "west" {
  inputs = { size = 4, bad = false }
}
`,
		"net/main.tf": `
variable "size" { type = number }
variable "bad" { type = bool }
resource "terraform_data" "net" {
  input = "net"
}
resource "terraform_data" "host" {
  count = var.size
  input = terraform_data.net.output
  provisioner "local-exec" {
    command = var.bad ? "exit 3" : "true"
  }
}
`,
	} {
		path := filepath.Join(r.dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	begin := exec.Command(program(t), "stacks", "init")
	begin.Dir = r.dir
	if out, err := begin.CombinedOutput(); err != nil {
		t.Fatalf("%s: %s", err, out)
	}
	r.start("stacks", "ui")
	card := func(n int) string { return fmt.Sprintf("#board li:nth-child(%d)", n) }
	// press clicks, and waits for what the page that it leads to has.
	press := func(link, has string) chromedp.Tasks {
		return chromedp.Tasks{chromedp.Click(link, chromedp.ByQuery), chromedp.WaitVisible(has, chromedp.ByQuery)}
	}
	do(t, ctx, chromedp.Navigate(r.address), says("#status", "3 waiting for approval"), says(card(2), "Plan: 4 to add"), shot(t, "board"))
	for n, choice := range []string{"approve", "approve", "refuse"} {
		do(t, ctx, press(card(n+1)+" a", button(choice)))
		do(t, ctx, says("#part", []string{"canary", "east", "west"}[n]), shot(t, "board-part"), chromedp.Click(button(choice), chromedp.ByQuery),
			says("h1", []string{"Apply complete!", "Apply failed", "Discarded"}[n]), press("nav a", "#board li"))
		do(t, ctx, says(card(n+1), []string{"3 of 3 done", "1 of 4 done, 3 failed", "Discarded"}[n]), shot(t, "board-"+choice))
	}
	do(t, ctx, says("h1", "Not everything was done"), says("#status", "1 done, 1 discarded, 1 failed"), shot(t, "board-end"), scheme("dark"), shot(t, "board-dark"), press(card(2)+" a", "#end"))
	do(t, ctx, says("#problems", "exit status 3"), says("#end", "weir stacks apply -deployment=east"), press("nav a", button("end")))
	do(t, ctx, chromedp.Focus(button("end"), chromedp.ByQuery), chromedp.KeyEvent("\r"))
	if code := r.code(); code != 1 {
		t.Errorf("exit code %d", code)
	}
}
