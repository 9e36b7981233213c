// The fixture of the interop matrix over the Go SDK; python/server.py says the same. On stdio, or with "http" over Streamable HTTP in
// the SDK's default mode, with sessions: then the first line that it prints is its address.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

type echoArguments struct {
	Text string `json:"text"`
}

func build() *mcp.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: "interop", Version: "1.0.0"}, &mcp.ServerOptions{Instructions: "A fixture."})
	mcp.AddTool(server, &mcp.Tool{Name: "echo", Description: "Says it again"}, func(_ context.Context, _ *mcp.CallToolRequest, arguments echoArguments) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: arguments.Text}}}, nil, nil
	})
	mcp.AddTool(server, &mcp.Tool{Name: "fail", Description: "Always fails"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		return nil, nil, errors.New("on purpose")
	})
	server.AddResource(&mcp.Resource{URI: "test://note", Name: "note", MIMEType: "text/plain"}, func(_ context.Context, request *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: request.Params.URI, MIMEType: "text/plain", Text: "a note"}}}, nil
	})
	server.AddPrompt(&mcp.Prompt{Name: "greet", Description: "A greeting", Arguments: []*mcp.PromptArgument{{Name: "name", Required: true}}}, func(_ context.Context, request *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		text := fmt.Sprintf("Hello, %s!", request.Params.Arguments["name"])
		return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: text}}}}, nil
	})
	return server
}

func main() {
	if len(os.Args) < 2 || os.Args[1] != "http" {
		if err := build().Run(context.Background(), &mcp.StdioTransport{}); err != nil {
			log.Fatal(err)
		}
		return
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("http://%s/mcp\n", listener.Addr())
	server := build()
	log.Fatal(http.Serve(listener, mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil)))
}
