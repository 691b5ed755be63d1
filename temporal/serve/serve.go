// Package serve runs a Temporal server in this process, for a single machine: all of its
// services, with a database in a file.
//
// It owns the server's settings. It doesn't know what is run on it.
package serve

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"go.temporal.io/server/common/authorization"
	"go.temporal.io/server/common/cluster"
	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/dynamicconfig"
	"go.temporal.io/server/common/log"
	"go.temporal.io/server/common/membership/static"
	_ "go.temporal.io/server/common/persistence/sql/sqlplugin/sqlite" // by its name
	"go.temporal.io/server/common/primitives"
	sqliteschema "go.temporal.io/server/schema/sqlite"
	"go.temporal.io/server/temporal"
)

// Options say where a server is.
type Options struct {
	// File has the database, which is made without one.
	File string
	// IP and Port are where clients reach it.
	IP   string
	Port int
	// Namespace is there from the beginning.
	Namespace string
	// Token is that of the store. Requests without its credential are rejected.
	Token string
}

const (
	plugin  = "sqlite"
	shards  = 4
	cell    = "active"
	machine = "127.0.0.1"
)

// Start starts a server; stop ends it.
func Start(o Options) (stop func(), err error) {
	if err := Free(o.IP, o.Port); err != nil {
		return nil, err
	}
	file, err := filepath.Abs(o.File)
	if err != nil {
		return nil, err
	}
	store := &config.SQL{PluginName: plugin, DatabaseName: file, ConnectAttributes: map[string]string{
		"mode": "rwc", "_journal_mode": "wal", "_synchronous": "full",
	}}
	if _, err := os.Stat(file); os.IsNotExist(err) {
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			return nil, err
		}
		if err := sqliteschema.SetupSchema(store); err != nil {
			return nil, fmt.Errorf("the database %s can't be made: %w", file, err)
		}
	}
	c, hosts, err := settings(o, store)
	if err != nil {
		return nil, err
	}
	inner, err := newInner()
	if err != nil {
		return nil, err
	}
	namespace, err := sqliteschema.NewNamespaceConfig(cell, o.Namespace, false, nil)
	if err == nil {
		err = sqliteschema.CreateNamespaces(store, namespace)
	}
	if err != nil {
		return nil, fmt.Errorf("the namespace %s can't be made: %w", o.Namespace, err)
	}
	s, err := temporal.NewServer(
		temporal.WithConfig(c),
		temporal.ForServices(services),
		temporal.WithStaticHosts(hosts),
		temporal.WithTLSConfigFactory(inner),
		temporal.WithLogger(log.NewZapLogger(log.BuildZapLogger(log.Config{Level: "fatal"}))),
		temporal.WithClaimMapper(func(*config.Config) authorization.ClaimMapper { return claims{o.Token} }),
		temporal.WithAuthorizer(authorizer{}),
		temporal.WithDynamicConfigClient(dynamicconfig.StaticClient{
			// Nobody else has the machine, and a start isn't to wait.
			dynamicconfig.ForceSearchAttributesCacheRefreshOnRead.Key(): true,
		}),
	)
	if err != nil {
		return nil, err
	}
	if err := s.Start(); err != nil {
		return nil, fmt.Errorf("the server can't be started: %w", err)
	}
	return func() { _ = s.Stop() }, nil
}

// services are those of the server. The internal frontend serves the other services, so that
// only clients use the frontend that asks for the credential.
var services = []string{
	string(primitives.FrontendService), string(primitives.InternalFrontendService), string(primitives.HistoryService),
	string(primitives.MatchingService), string(primitives.WorkerService),
}

// settings are those of a server whose services find one another on this machine.
func settings(o Options, store *config.SQL) (*config.Config, map[primitives.ServiceName]static.Hosts, error) {
	c := &config.Config{Services: map[string]config.Service{}}
	hosts := map[primitives.ServiceName]static.Hosts{}
	taken := map[int]bool{o.Port: true, o.Port + 1: true}
	for _, name := range services {
		rpc, ip := config.RPC{BindOnLocalHost: true}, machine
		if name == string(primitives.FrontendService) {
			rpc, ip = config.RPC{GRPCPort: o.Port, BindOnIP: o.IP}, o.IP
		} else {
			port, err := freePort(taken)
			if err != nil {
				return nil, nil, err
			}
			rpc.GRPCPort = port
		}
		c.Services[name] = config.Service{RPC: rpc}
		hosts[primitives.ServiceName(name)] = static.SingleLocalHost(net.JoinHostPort(ip, strconv.Itoa(rpc.GRPCPort)))
	}
	here := net.JoinHostPort(machine, strconv.Itoa(o.Port))
	c.Persistence = config.Persistence{
		DefaultStore: plugin, VisibilityStore: plugin, NumHistoryShards: shards,
		DataStores: map[string]config.DataStore{plugin: {SQL: store}},
	}
	c.ClusterMetadata = &cluster.Config{
		FailoverVersionIncrement: 10, MasterClusterName: cell, CurrentClusterName: cell,
		ClusterInformation: map[string]cluster.ClusterInformation{cell: {Enabled: true, InitialFailoverVersion: 1, RPCAddress: here}},
	}
	c.DCRedirectionPolicy = config.DCRedirectionPolicy{Policy: "noop"}
	c.Archival = config.Archival{History: config.HistoryArchival{State: "disabled"}, Visibility: config.VisibilityArchival{State: "disabled"}}
	c.NamespaceDefaults = config.NamespaceDefaults{Archival: config.ArchivalNamespaceDefaults{
		History:    config.HistoryArchivalNamespaceDefaults{State: "disabled"},
		Visibility: config.VisibilityArchivalNamespaceDefaults{State: "disabled"},
	}}
	return c, hosts, nil
}

// Free fails with one line when something listens at a port already.
func Free(ip string, port int) error {
	l, err := net.Listen("tcp", net.JoinHostPort(ip, strconv.Itoa(port)))
	if err == nil {
		return l.Close()
	}
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("port %d of %s is in use, perhaps by another worker. Choose another one with -port=PORT", port, ip)
	}
	return fmt.Errorf("weir can't listen at port %d of %s: %w", port, ip, err)
}

// freePort is one that nothing listens at.
func freePort(taken map[int]bool) (int, error) {
	for {
		l, err := net.Listen("tcp", machine+":0")
		if err != nil {
			return 0, err
		}
		port := l.Addr().(*net.TCPAddr).Port
		l.Close()
		if !taken[port] {
			taken[port] = true
			return port, nil
		}
	}
}
