// Package serve runs a Temporal server in this process, for a single machine: all of its
// services, with a database in a file.
//
// It owns the server's settings. It doesn't know what is run on it.
package serve

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"go.temporal.io/server/common/authorization"
	"go.temporal.io/server/common/cluster"
	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/dynamicconfig"
	"go.temporal.io/server/common/log"
	_ "go.temporal.io/server/common/persistence/sql/sqlplugin/sqlite" // by its name
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
}

const (
	plugin  = "sqlite"
	shards  = 4
	cell    = "active"
	machine = "127.0.0.1"
)

// Start starts a server; stop ends it.
func Start(o Options) (stop func(), err error) {
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
	c, err := settings(o, store)
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
		temporal.ForServices(temporal.DefaultServices),
		temporal.WithLogger(log.NewZapLogger(log.BuildZapLogger(log.Config{Level: "fatal"}))),
		temporal.WithAuthorizer(authorization.NewNoopAuthorizer()),
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

// settings are those of a server whose services find one another on this machine.
func settings(o Options, store *config.SQL) (*config.Config, error) {
	c := &config.Config{}
	services := map[string]config.Service{}
	taken := map[int]bool{o.Port: true}
	for _, name := range []string{"frontend", "history", "matching", "worker"} {
		member, err := freePort(taken)
		if err != nil {
			return nil, err
		}
		rpc := config.RPC{MembershipPort: member, BindOnLocalHost: true}
		if name == "frontend" {
			rpc.GRPCPort, rpc.BindOnLocalHost, rpc.BindOnIP = o.Port, false, o.IP
		} else if rpc.GRPCPort, err = freePort(taken); err != nil {
			return nil, err
		}
		services[name] = config.Service{RPC: rpc}
	}
	here := net.JoinHostPort(machine, strconv.Itoa(o.Port))
	c.Services = services
	c.Global.Membership = config.Membership{MaxJoinDuration: 30 * time.Second, BroadcastAddress: machine}
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
	c.PublicClient = config.PublicClient{HostPort: here}
	return c, nil
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
