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
		_ = chromedp.Run(ctx, shot(t, "error-"+t.Name()))
		t.Fatal(err)
	}
}

// says waits until a part of the page has a text.
func says(selector, text string) chromedp.Action {
	return chromedp.Poll(fmt.Sprintf("(document.querySelector(%q)||{}).innerText?.includes(%q)", selector, text), nil, chromedp.WithPollingTimeout(patience/3))
}

// choose gives a field of a form a value, as somebody who uses it does.
func choose(field, value string) chromedp.Action {
	return chromedp.Evaluate(fmt.Sprintf("(() => { const e = document.querySelector(%q); e.value = %q; e.dispatchEvent(new Event('input', { bubbles: true })); })()", field, value), nil)
}

// unfold opens an entry of the history.
func unfold(n int) chromedp.Action {
	return press(fmt.Sprintf("#earlier details:nth-of-type(%d) summary", n))
}

// press clicks an element of the history by its node. Entries move while another one opens, and
// Chromium drops mouse events while it changes the color scheme, so a click by position could miss.
func press(selector string) chromedp.Action {
	return chromedp.Tasks{chromedp.WaitVisible(selector, chromedp.ByQuery), chromedp.Evaluate(fmt.Sprintf("document.querySelector(%q).click()", selector), nil)}
}

func button(choice string) string { return "button[data-choice=" + choice + "]" }

// shot keeps a picture where SHOTS names a directory.
func shot(t *testing.T, name string) chromedp.Action {
	return chromedp.ActionFunc(func(ctx context.Context) error {
		dir := os.Getenv("SHOTS")
		if dir == "" {
			return nil
		}
		time.Sleep(3 * time.Second) // frames are drawn after they are there
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
resource "terraform_data" "bad" {
  provisioner "local-exec" {
    command = "echo no disk left >&2; exit 4"
  }
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
		says("#running", "terraform_data.slow"), shot(t, "running"),
		// A failure is there with its reason while others run.
		says("#failures", "terraform_data.bad failed while provisioning"), says("#failures", "exit status 4"), says("#failures", "no disk left"), says("h1", "Applying"), chromedp.Sleep(500*time.Millisecond), shot(t, "failing"))
	if err := os.WriteFile(filepath.Join(r.dir, "go"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	do(t, ctx, says("h1", "Apply failed"), says("#problems", "exit status 3"), says("#end", "1 of 4 done"), says("#end", "because of terraform_data.slow"), says("#end", "weir apply"), shot(t, "failed"),
		says("#failures", "failed while provisioning"), scheme("dark"), shot(t, "failed-dark"), scheme("light"))
	// Anything that is mended meanwhile is planned again, in the same page.
	r.write("resource \"terraform_data\" \"good\" {\n  input = \"a\"\n}\n")
	do(t, ctx, says("h1", "Plan: 0 to add, 0 to change, 2 to destroy"), chromedp.WaitVisible(button("approve")), shot(t, "again"), chromedp.Click(button("approve")), says("h1", "Apply complete!"))
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
    command = "trap '' INT; while ! test -e go; do sleep 0.1; done"
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
	do(t, ctx, says("h1", "Apply stopped"), says("#end", "0 of 2 done, 1 failed, 1 not begun"), says("#problems", "interrupted"), chromedp.WaitVisible(button("again")), shot(t, "stopped"), chromedp.Click(button("again")),
		says("h1", "Plan: 2 to add, 0 to change, 1 to destroy"), chromedp.WaitVisible(button("approve")), chromedp.Click(button("approve")), says("h1", "Apply complete!"))
	if code := r.code(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// TestCut: a provisioner ends at the first interrupt, which isn't a failure of the apply. An
// edit plans again, and that apply isn't stopped.
func TestCut(t *testing.T) {
	ctx := tab(t)
	r := weir(t, `
resource "terraform_data" "slow" {
  provisioner "local-exec" {
    command = "sleep 100"
  }
}
resource "terraform_data" "after" {
  input = terraform_data.slow.id
}
`)
	do(t, ctx, chromedp.Navigate(r.address), chromedp.WaitVisible(button("approve")), chromedp.Click(button("approve")),
		says("#running", "provisioning"), chromedp.Click("#stop", chromedp.ByQuery), says("h1", "Apply stopped"), says("#failures", "terraform_data.slow"), shot(t, "cut"))
	r.write("resource \"terraform_data\" \"slow\" {}\n")
	do(t, ctx, says("h1", "Plan: 1 to add, 0 to change, 1 to destroy"), chromedp.WaitVisible(button("approve")), chromedp.Click(button("approve")), says("h1", "Apply complete!"))
	if code := r.code(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// TestHard: a second click abandons what runs.
func TestHard(t *testing.T) {
	ctx := tab(t)
	r := weir(t, `
resource "terraform_data" "slow" {
  provisioner "local-exec" {
    command = "trap '' INT; sleep 100"
  }
}
`)
	do(t, ctx, chromedp.Navigate(r.address), chromedp.WaitVisible(button("approve")), chromedp.Click(button("approve")),
		says("#running", "provisioning"), chromedp.Click("#stop", chromedp.ByQuery), says("#stop", "Stop now"), chromedp.Click("#stop", chromedp.ByQuery),
		says("h1", "Apply stopped"), says("#end", "The state is saved"), shot(t, "hard"))
	if code := r.code(); code != 1 {
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
		fmt.Fprintf(&config, "resource \"terraform_data\" %q {\n  input = %s\n}\n", name(i), input(i))
	}
	r := weir(t, config.String())
	do(t, ctx, chromedp.Navigate(r.address), says("h1", "Plan: 2000 to add"), chromedp.WaitVisible(button("approve")), shot(t, "many"))
	// Without a busy machine, as the best of a few loads.
	fastest := func(address, selector string) float64 {
		best := 1e9
		for range 5 {
			var paint float64
			do(t, ctx, chromedp.Navigate(address), chromedp.WaitVisible(selector, chromedp.ByQuery), chromedp.Poll("performance.getEntriesByName('first-contentful-paint')[0]?.startTime", &paint))
			best = min(best, paint)
		}
		return best
	}
	paint, painted := fastest(r.address, button("approve")), fastest(r.address+"plan/1", ".fold")
	t.Logf("first paint after %.0f ms, of the plan after %.0f ms", paint, painted)
	if max(paint, painted) >= 1000 {
		t.Errorf("first paint after %.0f ms, of the plan after %.0f ms", paint, painted)
	}
	var rows float64
	do(t, ctx, chromedp.Navigate(r.address+"plan/1"), chromedp.WaitVisible(".fold", chromedp.ByQuery), shot(t, "folded"), chromedp.Evaluate("document.querySelectorAll('.row').length", &rows))
	if rows != 2000 {
		t.Errorf("%.0f rows", rows)
	}
	// The graph has a box for each pattern of names, with its count.
	var boxes string
	do(t, ctx, chromedp.Evaluate("[...document.querySelectorAll('g.node title')].map((e) => e.textContent.split('\\n')[0]).sort().join(' ')", &boxes),
		chromedp.Evaluate("document.querySelector('#graph-part').scrollIntoView()", nil), chromedp.Sleep(500*time.Millisecond), shot(t, "patterns"))
	if boxes != "terraform_data.db* terraform_data.disk* terraform_data.dns* terraform_data.host* terraform_data.net*" {
		t.Errorf("the boxes are %s", boxes)
	}
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
	return fmt.Sprintf("terraform_data.%s.output", name(i-1-i%7%(1+i%40/7)))
}

// name gives each 40 blocks the names of five tiers.
func name(i int) string {
	return fmt.Sprintf("%s%d", []string{"net", "disk", "host", "db", "dns"}[i%40/8], i)
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
	do(t, ctx, chromedp.WaitVisible("#earlier", chromedp.ByQuery), chromedp.Evaluate(open, nil), says("#earlier", "Serial 1: 5 objects"), says("#earlier", "Serial 2: 3 objects (now)"), says("#earlier", "+0 ~0 -2"))
	do(t, ctx, unfold(1), says("#earlier", "- terraform_data.node[2]"),
		unfold(2), says("#earlier", "Going back would change"),
		shot(t, "earlier"), scheme("dark"), shot(t, "earlier-dark"), scheme("light"),
		press("#earlier details button"), says("h1", "Plan: 0 to add, 0 to change, 2 to destroy"), says("#status", "Nothing is done"), chromedp.WaitVisible(button("refuse")), shot(t, "back"),
		chromedp.Click(button("refuse")), says("h1", "Discarded"), chromedp.WaitVisible(button("end")), chromedp.Click(button("end")))
	if code := r.code(); code != 1 {
		t.Errorf("exit code %d", code)
	}
}

// deployments is a directory with a stack of three, one of which fails, that is initialized.
func deployments(t *testing.T) *run {
	t.Helper()
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
	return r
}

// TestBoard: the deployments of a stack are cards. Each leads to a page that takes the answer,
// and its card follows; the pages stay until somebody ends that.
func TestBoard(t *testing.T) {
	ctx := tab(t)
	r := deployments(t)
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

// TestApproveAll: the board shows only the cards that are asked for, and approves all plans
// that wait at once.
func TestApproveAll(t *testing.T) {
	ctx := tab(t)
	r := deployments(t)
	r.start("stacks", "ui")
	visible := func(want string) chromedp.Action {
		return chromedp.Poll(fmt.Sprintf("[...document.querySelectorAll('#board li')].filter((e) => !e.hidden).map((e) => e.querySelector('h2').textContent).join() === %q", want), nil, chromedp.WithPollingTimeout(patience/3))
	}
	do(t, ctx, chromedp.Navigate(r.address), says("#status", "3 waiting for approval"), visible("canary,east,west"),
		choose("#filter", "st"), visible("east,west"), shot(t, "board-filter"),
		choose("#filter", ""), choose("#stage", "done"), visible(""), choose("#stage", ""), visible("canary,east,west"),
		says("#all", "Approve all 3"), chromedp.Click("#all", chromedp.ByQuery), says("h1", "Not everything was done"), says("#status", "2 done, 1 failed"), shot(t, "board-all"),
		chromedp.Click(button("end"), chromedp.ByQuery))
	if code := r.code(); code != 1 {
		t.Errorf("exit code %d", code)
	}
}

// TestStopAll: the board stops the applies of all deployments.
func TestStopAll(t *testing.T) {
	ctx := tab(t)
	r := deployments(t)
	module := filepath.Join(r.dir, "net", "main.tf")
	text, err := os.ReadFile(module)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(module, []byte(strings.Replace(string(text), `"true"`, `"trap '' INT; while ! test -e ../go; do sleep 0.1; done"`, 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	r.start("stacks", "ui", "-deployment=canary", "-deployment=west", "-parallelism=2")
	do(t, ctx, chromedp.Navigate(r.address), says("#all", "Approve all 2"), chromedp.Click("#all", chromedp.ByQuery), says("#status", "2 applying"), chromedp.WaitVisible("#stop", chromedp.ByQuery), shot(t, "board-applying"),
		chromedp.Click("#stop", chromedp.ByQuery), says("#board", "Stopping"), says("#stop", "Stop all now"), shot(t, "board-stopping"))
	if err := os.WriteFile(filepath.Join(r.dir, "go"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	do(t, ctx, says("#status", "2 stopped"), says("h1", "Not everything was done"), shot(t, "board-stopped"), chromedp.Click(button("end"), chromedp.ByQuery))
	if code := r.code(); code != 1 {
		t.Errorf("exit code %d", code)
	}
}

// command runs a command in the directory and returns what it prints.
func (r *run) command(args ...string) string {
	r.t.Helper()
	cmd := exec.Command(program(r.t), args...)
	cmd.Dir, cmd.Stderr = r.dir, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		r.t.Fatalf("weir %s: %s", strings.Join(args, " "), err)
	}
	return string(out)
}

const reported = `
variable "generation" {
  type = string
}
resource "terraform_data" "retired" {
  count = var.generation == "a" ? 1 : 0
}
module "app" {
  source     = "./app"
  generation = var.generation
}
resource "terraform_data" "record" {
  input = module.app.nodes
}
resource "terraform_data" "alarm" {
  count = var.generation == "b" ? 1 : 0
  input = terraform_data.record.output
}
output "nodes" {
  value = module.app.nodes
}
`

const reportedModule = `
variable "generation" {
  type = string
}
resource "terraform_data" "volume" {
  input            = "10 GiB"
  triggers_replace = [var.generation]
}
resource "terraform_data" "node" {
  count = 3
  input = "${terraform_data.volume.id} at ${count.index}"
}
output "nodes" {
  value = terraform_data.node[*].output
}
`

// TestReport: the page and the graph of a saved plan. The pictures of docs/reports.md are made
// here.
func TestReport(t *testing.T) {
	ctx := tab(t)
	r := &run{t: t, dir: t.TempDir()}
	r.write(reported)
	if err := os.Mkdir(filepath.Join(r.dir, "app"), 0o755); err != nil {
		t.Fatal(err)
	}
	save := func(name, text string) string {
		path := filepath.Join(r.dir, name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return "file://" + path
	}
	save("app/main.tf", reportedModule)
	r.command("init")
	r.command("apply", "-auto-approve", "-var=generation=a")
	r.command("plan", "-var=generation=b", "-out=plan")
	row := func(n int) string { return fmt.Sprintf(".row:nth-of-type(%d) summary", n) }
	hidden := func(n string) chromedp.Action {
		return chromedp.Poll("[...document.querySelectorAll('.row')].filter((e) => e.offsetParent === null).length === "+n, nil, chromedp.WithPollingTimeout(patience/3))
	}
	do(t, ctx, chromedp.EmulateViewport(1000, 760), chromedp.Navigate(save("plan.html", r.command("show", "-format=html", "plan"))), says("h1", "Plan: 2 to add, 4 to change, 2 to destroy"),
		says(row(1), "terraform_data.retired[0]"), says(row(2), "module.app.terraform_data.volume"), chromedp.Click(row(2), chromedp.ByQuery),
		says("main", "var.generation"), says("main", "Blast radius: 3 blocks depend on it, 3 of them change"), says(".row[open] .diff, .row .diff", "forces replacement"), chromedp.Sleep(500*time.Millisecond), shot(t, "plan-page"),
		chromedp.Click("input[value=update]", chromedp.ByQuery), hidden("2"), chromedp.Click("input[value=update]", chromedp.ByQuery), hidden("0"),
		chromedp.EmulateViewport(1180, 240), chromedp.Navigate(save("graph.html", r.command("graph", "-plan=plan", "-format=html"))), chromedp.WaitVisible("g.node", chromedp.ByQuery), says("body", "right of what it needs"), shot(t, "plan-graph"))
}

// TestDemo: the network of hosts that make demo plays with, as its pages show it. The
// pictures of README and docs/ui.md are made here.
func TestDemo(t *testing.T) {
	ctx := tab(t)
	config, err := os.ReadFile(filepath.Join("..", "..", "examples", "hosts", "main.tf"))
	if err != nil {
		t.Fatal(err)
	}
	r := weir(t, string(config))
	do(t, ctx, chromedp.EmulateViewport(1180, 640), chromedp.Navigate(r.address), says("h1", "Plan: 4 to add"), chromedp.WaitVisible(button("approve")), chromedp.Click(button("approve")),
		says("#running", "terraform_data.host[2]"), says("#status", "2 of 4 done"), chromedp.Sleep(500*time.Millisecond), shot(t, "run"), says("h1", "Apply complete! Resources: 4 added"), shot(t, "times"))
	if code := r.code(); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	r.run("-var=zone=south", "-replace=terraform_data.host[2]")
	do(t, ctx, chromedp.Navigate(r.address), says("h1", "Plan: 1 to add, 3 to change, 1 to destroy"), chromedp.WaitVisible(button("approve")),
		chromedp.Evaluate("document.querySelector('#earlier').open = true", nil), says("#earlier", "Serial 1: 4 objects (now)"), says("#earlier", "+4 ~0 -0"), says("#earlier", "ui by "), shot(t, "ui"), unfold(1), says("#earlier", "+ terraform_data.host[0]"), shot(t, "history"),
		chromedp.Click(button("refuse")), says("h1", "Discarded"), chromedp.WaitVisible(button("end")), chromedp.Click(button("end")))
	if code := r.code(); code != 1 {
		t.Errorf("exit code %d", code)
	}
}
