// SPDX-License-Identifier: Apache-2.0
//
// llama-server with Juno linked in: starts, answers, stops, and leaves its receipts.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <csignal>

#include "programs.h"

namespace juno::e2e {
namespace {

using Clock = std::chrono::steady_clock;

struct Reply {
  int status = 0;  ///< 0: no answer
  std::string body;
};

/// One HTTP request to this machine.
Reply request(int port, const std::string& method, const std::string& path, const std::string& body) {
  const int connection = socket(AF_INET, SOCK_STREAM, 0);
  if (connection < 0) return {};
  const timeval limit{60, 0};
  setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  std::string answer;
  if (connect(connection, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
    const std::string text = method + " " + path + " HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n" +
                             "Content-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) +
                             "\r\n\r\n" + body;
    if (send(connection, text.data(), text.size(), 0) == static_cast<ssize_t>(text.size())) {
      char buffer[4096];
      for (ssize_t count = 0; (count = recv(connection, buffer, sizeof buffer, 0)) > 0;) {
        answer.append(buffer, static_cast<std::size_t>(count));
      }
    }
  }
  close(connection);
  const std::size_t head = answer.find("\r\n\r\n");
  if (!answer.starts_with("HTTP/1.1 ") || head == std::string::npos) return {};
  return {std::stoi(answer.substr(9, 3)), answer.substr(head + 4)};
}

/// The port that the server chose, once it listens; 0 if it never does.
int port_of(Process& server) {
  const std::string before = "listening on http://127.0.0.1:";
  const auto deadline = Clock::now() + std::chrono::seconds(60);
  while (Clock::now() < deadline) {
    const bool open = server.pump(std::chrono::milliseconds(50));
    const std::string all = server.so_far().err + server.so_far().out;
    const std::size_t at = all.find(before);
    if (at != std::string::npos && all.find('\n', at) != std::string::npos)
      return std::stoi(all.substr(at + before.size()));
    if (!open) break;
  }
  return 0;
}

bool becomes_healthy(Process& server, int port) {
  const auto deadline = Clock::now() + std::chrono::seconds(60);
  while (Clock::now() < deadline) {
    if (request(port, "GET", "/health", "").status == 200) return true;
    if (!server.pump(std::chrono::milliseconds(100))) return false;
  }
  return false;
}

/// Asks for one completion and stops the server.
void serve(const Environment& environment, const std::filesystem::path& folder, Json& completion, Json& receipts) {
  Environment all = environment;
  all["JUNO_RECEIPTS"] = (folder / "receipts-%p.json").string();
  // QEMU 11.1 itself crashes when a signal reaches a program on a processor that has SME but no SVE.
  if (has_runner()) all["JUNO_CPU"] = "max,sme512=on,sme_fa64=off";
  Process server(command("llama-server",
                         {"-m", file_of(plain_model()), "--host", "127.0.0.1", "--port", "0", "-t", "2", "-c", "256",
                          "-np", "1", "--no-warmup"},
                         all));
  const int port = port_of(server);
  ASSERT_NE(port, 0) << server.wait().text();
  ASSERT_TRUE(becomes_healthy(server, port)) << server.so_far().text();
  const Json question = {{"prompt", "Once upon a time"}, {"n_predict", 5}, {"temperature", 0}, {"return_tokens", true}};
  const Reply reply = request(port, "POST", "/completion", question.dump());
  ASSERT_EQ(reply.status, 200) << reply.body << server.so_far().text();
  completion = Json::parse(reply.body, nullptr, false);
  server.send(SIGTERM);
  const Outcome outcome = server.wait();
  EXPECT_TRUE(succeeds(outcome));
  const std::vector<std::string> expected = {"receipts-" + std::to_string(outcome.pid) + ".json"};
  ASSERT_EQ(names_in(folder), expected) << outcome.text();
  receipts = parse_file(folder / expected[0]);
}

TEST(Server, AnswersWithJunoAndWritesReceiptsWhenStopped) {
  Json completion;
  Json receipts;
  serve(compiling(), new_folder(), completion, receipts);
  ASSERT_TRUE(receipts.is_object());
  expect_compiled(receipts, plain_model().compiled);

  Json native_completion;
  Json native_receipts;
  serve(compiling({{"JUNO_ENGINE", "native"}}), new_folder(), native_completion, native_receipts);
  ASSERT_TRUE(native_receipts.is_object());
  expect_engine_off(native_receipts);

  EXPECT_EQ(completion.at("tokens").size(), 5u);
  // Elsewhere sums are in another order, and the tokens could differ where two are nearly equal.
  if (expects_sme2()) {
    EXPECT_EQ(completion.at("tokens"), native_completion.at("tokens"));
    EXPECT_EQ(completion.at("content"), native_completion.at("content"));
  }
}

}  // namespace
}  // namespace juno::e2e
