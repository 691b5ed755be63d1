package cos

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"weir.dev/weir/internal/state/storage/backendconfig"
	"weir.dev/weir/internal/state/storage/objectstore"
	"weir.dev/weir/internal/state/storage/rest"
)

// A role is one to assume.
type role struct {
	arn, session, policy, external string
	seconds                        int
}

// access is who asks.
type access struct {
	api      *api
	keys     objectstore.Keys
	instance string // the role of the CVM instance, which counts more than keys
	role     *role  // nil for none
	metadata url.URL
	ring     objectstore.Ring
}

// A profile is one of tccli.
type profile struct {
	ID      string `json:"secretId"`
	Secret  string `json:"secretKey"`
	Token   string `json:"token"`
	Role    string `json:"role-arn"`
	Session string `json:"role-session-name"`
}

func readAccess(r *backendconfig.Reader, of *api) *access {
	a := &access{
		api: of, instance: r.Text("cam_role_name", "TENCENTCLOUD_CAM_ROLE_NAME"),
		metadata: url.URL{Scheme: "http", Host: "metadata.tencentyun.com"},
		keys: objectstore.Keys{
			ID:     r.Text("secret_id", "TENCENTCLOUD_SECRET_ID"),
			Secret: r.Text("secret_key", "TENCENTCLOUD_SECRET_KEY"),
			Token:  r.Text("security_token", "TENCENTCLOUD_SECURITY_TOKEN"),
		},
	}
	var p profile
	if a.keys == (objectstore.Keys{}) {
		p = readProfile(r, a.instance != "")
		a.keys = objectstore.Keys{ID: strings.TrimSpace(p.ID), Secret: strings.TrimSpace(p.Secret), Token: strings.TrimSpace(p.Token)}
	}
	a.role = readRole(r, p)
	return a
}

// readProfile reads the credentials that tccli has stored. They may be missing where nobody
// asked for them.
func readProfile(r *backendconfig.Reader, optional bool) (p profile) {
	name := r.TextOr("", "profile", "TENCENTCLOUD_PROFILE")
	optional = optional || name == ""
	if name == "" {
		name = "default"
	}
	dir := r.TextOr("~/.tccli", "shared_credentials_dir", "TENCENTCLOUD_SHARED_CREDENTIALS_DIR")
	if rest, found := strings.CutPrefix(dir, "~/"); found {
		home := r.Getenv("HOME")
		if home == "" {
			home = r.Getenv("USERPROFILE")
		}
		dir = filepath.Join(home, rest)
	} else if !filepath.IsAbs(dir) {
		dir = filepath.Join(r.Env.Dir, dir)
	}
	file := filepath.Join(dir, name+".credential")
	content, err := os.ReadFile(file)
	if err == nil {
		if err = json.Unmarshal(content, &p); err != nil {
			err = fmt.Errorf("%s can't be read: %w", file, err)
		}
	}
	if err != nil && !optional {
		r.Problem("profile", "Invalid backend configuration", "The profile can't be used: %s.", err)
	}
	return p
}

func readRole(r *backendconfig.Reader, p profile) *role {
	const usual, most = 7200, 43200
	as := &role{arn: strings.TrimSpace(p.Role), session: strings.TrimSpace(p.Session), seconds: usual}
	of := r.Block("assume_role")
	given := of != nil
	if of == nil {
		of = &backendconfig.Reader{Config: Schema().Blocks["assume_role"].Block.EmptyValue(), Env: r.Env}
	}
	if arn := of.Text("role_arn", "TENCENTCLOUD_ASSUME_ROLE_ARN"); arn != "" {
		*as = role{
			arn: arn, session: of.Text("session_name", "TENCENTCLOUD_ASSUME_ROLE_SESSION_NAME"), policy: of.Text("policy"),
			external: of.Text("external_id", "TENCENTCLOUD_ASSUME_ROLE_EXTERNAL_ID"),
			seconds:  of.Int("session_duration", usual, "TENCENTCLOUD_ASSUME_ROLE_SESSION_DURATION"),
		}
	}
	if as.seconds > most {
		of.Problem("session_duration", "Invalid backend configuration", "%q cannot be higher than %d: %d", "session_duration", most, as.seconds)
	}
	complete := as.arn != "" && as.session != ""
	if given && !complete {
		of.Problem("", "Invalid backend configuration", "A role to assume needs role_arn and session_name.")
	}
	r.Took(of)
	if !complete {
		return nil
	}
	return as
}

// get is the credentials for a request.
func (a *access) get(ctx context.Context) (objectstore.Keys, error) {
	return a.ring.Get(func() (objectstore.Keys, error) { return a.find(ctx) })
}

func (a *access) find(ctx context.Context) (objectstore.Keys, error) {
	k := a.keys
	var err error
	if a.instance != "" {
		if k, err = a.fromInstance(ctx); err != nil {
			return objectstore.Keys{}, fmt.Errorf("the CAM role %q of this CVM instance gave no credentials: %w", a.instance, err)
		}
	}
	if k.ID == "" || k.Secret == "" {
		return objectstore.Keys{}, errors.New("no credentials were found: set secret_id and secret_key, or TENCENTCLOUD_SECRET_ID and TENCENTCLOUD_SECRET_KEY, or profile, or cam_role_name")
	}
	if a.role != nil {
		if k, err = a.assume(ctx, k); err != nil {
			return objectstore.Keys{}, fmt.Errorf("the role %q can't be assumed: %w", a.role.arn, err)
		}
	}
	return k, nil
}

// given is how services hand out credentials.
type given struct {
	TmpSecretID  string `json:"TmpSecretId"`
	TmpSecretKey string
	Token        string
	ExpiredTime  int64
}

func (g given) keys() objectstore.Keys {
	k := objectstore.Keys{ID: g.TmpSecretID, Secret: g.TmpSecretKey, Token: g.Token}
	if g.ExpiredTime > 0 {
		k.Until = time.Unix(g.ExpiredTime, 0)
	}
	return k
}

// fromInstance asks the metadata service.
func (a *access) fromInstance(ctx context.Context) (objectstore.Keys, error) {
	client := &rest.Client{HTTP: a.api.http, Base: a.metadata, Patience: a.api.patience}
	var said struct {
		given
		Code string
	}
	err := client.Into(ctx, rest.Request{Method: http.MethodGet, Path: "/latest/meta-data/cam/security-credentials/" + a.instance}, &said)
	if err == nil && (said.TmpSecretID == "" || said.Code != "" && said.Code != "Success") {
		err = fmt.Errorf("the metadata service says %q", said.Code)
	}
	return said.keys(), err
}

// assume asks STS for credentials of the role.
func (a *access) assume(ctx context.Context, as objectstore.Keys) (objectstore.Keys, error) {
	ask := map[string]any{"RoleArn": a.role.arn, "RoleSessionName": a.role.session, "DurationSeconds": a.role.seconds}
	if a.role.policy != "" {
		ask["Policy"] = url.QueryEscape(a.role.policy)
	}
	if a.role.external != "" {
		ask["ExternalId"] = a.role.external
	}
	var said struct {
		given       `json:"Credentials"`
		ExpiredTime int64
	}
	if err := a.api.call(ctx, as, "sts", "AssumeRole", ask, &said); err != nil {
		return objectstore.Keys{}, err
	}
	said.given.ExpiredTime = said.ExpiredTime
	if said.TmpSecretID == "" {
		return objectstore.Keys{}, errors.New("STS answered without credentials")
	}
	return said.keys(), nil
}
