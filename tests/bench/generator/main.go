// Generator loads an API server: it finds the limit of what the server takes, and how long other
// clients wait meanwhile. It prints one JSON document.
//
//	generator patch -url URL -ca FILE -cert FILE -key FILE -concurrency N < paths
//	generator probe -url URL -ca FILE -cert FILE -key FILE -rate N -seconds N -path PATH
//	generator renew -url URL -ca FILE -cert FILE -key FILE -rate N -path NAMESPACE
package main

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

type options struct {
	url, ca, cert, key, accept, path string
	concurrency, rate                int
	seconds                          float64
}

func main() {
	if len(os.Args) < 2 {
		fail(fmt.Errorf("say patch, probe or renew"))
	}
	wanted := options{}
	flags := flag.NewFlagSet(os.Args[1], flag.ExitOnError)
	flags.StringVar(&wanted.url, "url", "", "the server")
	flags.StringVar(&wanted.ca, "ca", "", "who has to have signed its certificate")
	flags.StringVar(&wanted.cert, "cert", "", "the client's certificate")
	flags.StringVar(&wanted.key, "key", "", "its key")
	flags.StringVar(&wanted.accept, "accept", "application/json", "the header Accept")
	flags.StringVar(&wanted.path, "path", "", "probe: the list that is read and added to; renew: the namespace")
	flags.IntVar(&wanted.concurrency, "concurrency", 16, "patch: requests at once")
	flags.IntVar(&wanted.rate, "rate", 20, "probe, renew: requests a second")
	flags.Float64Var(&wanted.seconds, "seconds", 10, "probe: for how long")
	flags.Parse(os.Args[2:])

	client := connect(wanted)
	switch os.Args[1] {
	case "probe":
		report(probe(client, wanted))
	case "renew":
		renew(client, wanted)
	default:
		report(patchAll(client, wanted, readPaths()))
	}
}

// connect makes a client as the migrator's: HTTP/1.1 on connections that are kept alive.
func connect(wanted options) *http.Client {
	authority, err := os.ReadFile(wanted.ca)
	fail(err)
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(authority)
	certificate, err := tls.LoadX509KeyPair(wanted.cert, wanted.key)
	fail(err)
	return &http.Client{
		Timeout: time.Minute,
		Transport: &http.Transport{
			TLSClientConfig: &tls.Config{
				RootCAs:      roots,
				Certificates: []tls.Certificate{certificate},
			},
			// Not nil, and empty: no HTTP/2.
			TLSNextProto:        map[string]func(string, *tls.Conn) http.RoundTripper{},
			MaxIdleConnsPerHost: 1000,
			DisableCompression:  true,
		},
	}
}

func readPaths() []string {
	var paths []string
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		paths = append(paths, lines.Text())
	}
	fail(lines.Err())
	return paths
}

// patchAll sends an empty merge patch to every path, and measures from the first to the last.
func patchAll(client *http.Client, wanted options, paths []string) any {
	var next, failed atomic.Int64
	var workers sync.WaitGroup
	begun := time.Now()
	for range wanted.concurrency {
		workers.Add(1)
		go func() {
			defer workers.Done()
			for {
				number := int(next.Add(1)) - 1
				if number >= len(paths) {
					return
				}
				if send(client, wanted, "PATCH", wanted.url+paths[number], "{}") != nil {
					failed.Add(1)
				}
			}
		}()
	}
	workers.Wait()
	return map[string]any{
		"seconds":  time.Since(begun).Seconds(),
		"requests": len(paths),
		"failed":   failed.Load(),
	}
}

// probe reads and creates in turn at a fixed rate, and measures from when each request was due:
// one that has to wait for those before it is late too.
func probe(client *http.Client, wanted options) any {
	total := int(wanted.seconds * float64(wanted.rate))
	waited := make([]float64, total)
	var failed atomic.Int64
	var under sync.WaitGroup
	begun := time.Now()
	for number := range total {
		due := begun.Add(time.Duration(number) * time.Second / time.Duration(wanted.rate))
		time.Sleep(time.Until(due))
		under.Add(1)
		go func() {
			defer under.Done()
			if ask(client, wanted, number) != nil {
				failed.Add(1)
			}
			waited[number] = time.Since(due).Seconds()
		}()
	}
	under.Wait()
	return map[string]any{"waited": waited, "failed": failed.Load()}
}

// renew writes a lease at a fixed rate, as kubelets do, until it is ended.
func renew(client *http.Client, wanted options) {
	leases := wanted.url + "/apis/coordination.k8s.io/v1/namespaces/" + wanted.path + "/leases"
	lease := `{"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{"name":"kubelet"}}`
	fail(send(client, wanted, "POST", leases, lease))
	for now := range time.Tick(time.Second / time.Duration(wanted.rate)) {
		moment := now.UTC().Format("2006-01-02T15:04:05.000000Z")
		renewal := fmt.Sprintf(`{"spec":{"renewTime":"%s"}}`, moment)
		fail(send(client, wanted, "PATCH", leases+"/kubelet", renewal))
	}
}

func ask(client *http.Client, wanted options, number int) error {
	if number%2 == 0 {
		return send(client, wanted, "GET", wanted.url+wanted.path+"?limit=10", "")
	}
	document := `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"generateName":"probe-"}}`
	return send(client, wanted, "POST", wanted.url+wanted.path, document)
}

func send(client *http.Client, wanted options, method, url, body string) error {
	request, err := http.NewRequest(method, url, bytes.NewReader([]byte(body)))
	if err != nil {
		return err
	}
	request.Header.Set("Accept", wanted.accept)
	request.Header.Set("Content-Type", "application/json")
	if method == "PATCH" {
		request.Header.Set("Content-Type", "application/merge-patch+json")
	}
	answer, err := client.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if _, err := io.Copy(io.Discard, answer.Body); err != nil {
		return err
	}
	if answer.StatusCode >= 300 {
		return fmt.Errorf("%s %s: %s", method, url, answer.Status)
	}
	return nil
}

func report(result any) {
	fail(json.NewEncoder(os.Stdout).Encode(result))
}

func fail(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "generator:", err)
		os.Exit(1)
	}
}
