#include "core/secrets.h"

#include <doctest/doctest.h>

using namespace cb;

TEST_CASE("settings are recorded as they are") {
  for (const char* value :
       {"", "1", "^docker0,lo", "mlx5_0:1,mlx5_1:1", "=mlx5", "Ring,Tree",
        "allreduce:tree;alltoall:ring", "/opt/hpcx/ucx-1.17.0/lib", "rc_x,sm,self",
        "GPU-8f3c1c5e-1f2a-4b3c-9d8e-001122334455", "0-31,64-95", "tcp,self", "10.77.0.0/16",
        "2305843009213693952", "hello world"})
    CHECK(setting_or_redacted("NCCL_X", value) == value);
}

TEST_CASE("what is no setting, or is called a secret, is not recorded") {
  for (const char* value :
       {"https://me:hunter2@mirror/x", "a3f5c9d2e8b14706a3f5c9d2e8b14706", "AbcdEfgh1234IjklMnop",
        "line\nbreak", "\xff", "-----BEGIN$KEY", "x=AbcdEfgh1234IjklMnop,y"})
    CHECK(setting_or_redacted("NCCL_X", value) == kRedacted);
  CHECK(setting_or_redacted("NCCL_X", std::string(512, 'a')) == std::string(512, 'a'));
  CHECK(setting_or_redacted("NCCL_X", std::string(513, 'a')) == kRedacted);
  for (const char* name :
       {"UCX_AUTH_TOKEN", "CUDA_PASSWORD", "NCCL_API_KEY", "ompi_mca_secret", "--mkey", "--vs-key"})
    CHECK(setting_or_redacted(name, "1") == kRedacted);
  CHECK(setting_or_redacted("UCX_IB_PKEY", "0x7fff") == "0x7fff");
}

TEST_CASE("the shortest word that looks like a key") {
  CHECK(setting_or_redacted("N", "aA1aaaaaaaaaaaaaaaa") == "aA1aaaaaaaaaaaaaaaa");  // 19
  CHECK(setting_or_redacted("N", "aA1aaaaaaaaaaaaaaaaa") == kRedacted);             // 20
  const std::string hex(30, 'a');
  CHECK(setting_or_redacted("N", hex + "1") == hex + "1");   // 31
  CHECK(setting_or_redacted("N", hex + "11") == kRedacted);  // 32
}

TEST_CASE("the number of words to generate is no secret") {
  CHECK(!names_secret("new-tokens"));
  CHECK(names_secret("tokens"));
  CHECK(arguments_without_secrets({"infer", "--new-tokens", "8"}) ==
        std::vector<std::string>{"infer", "--new-tokens", "8"});
}

TEST_CASE("a command line keeps everything but its secrets") {
  const std::vector<std::string> given{"clusterbench",
                                       "gemm",
                                       "--size",
                                       "4096",
                                       "--token",
                                       "hunter2",
                                       "--password=hunter2",
                                       "-x",
                                       "AWS_SECRET_ACCESS_KEY=hunter2",
                                       "--json",
                                       "/data/out/g.json",
                                       "https://me:pw@host/a"};
  const std::vector<std::string> kept{"clusterbench",
                                      "gemm",
                                      "--size",
                                      "4096",
                                      "--token",
                                      "[redacted]",
                                      "--password=[redacted]",
                                      "-x",
                                      "AWS_SECRET_ACCESS_KEY=[redacted]",
                                      "--json",
                                      "/data/out/g.json",
                                      "https://[redacted]@host/a"};
  CHECK(arguments_without_secrets(given) == kept);
}

TEST_CASE("without values only what is called and its options' names are left") {
  const std::vector<std::string> given{"/opt/cb/bin/clusterbench", "io",        "--dir",
                                       "/data/customer",           "--size=1G", "--direct"};
  const std::vector<std::string> kept{"clusterbench",      "io",      "--dir", "[redacted]",
                                      "--size=[redacted]", "--direct"};
  CHECK(arguments_without_values(given) == kept);
}

TEST_CASE("twenty characters look like a key with digits, small and capital letters only") {
  for (const char* plain : {"aaaaaaaaaaaaaaaaaaa1", "AAAAAAAAAAAAAAAAAAA1", "aaaaaaaaaaaaaaaaaaAA",
                            "11111111111111111111"})
    CHECK(setting_or_redacted("N", plain) == plain);
  const std::string many(31, 'a');
  CHECK(setting_or_redacted("N", many + "a") == many + "a");
  CHECK(setting_or_redacted("N", many + "A") == many + "A");
  CHECK(setting_or_redacted("N", std::string(31, 'A') + "1") == kRedacted);
  CHECK(setting_or_redacted("N", std::string(32, '1')) == std::string(32, '1'));
}

TEST_CASE("the user of each address is left out, and nothing else of it") {
  const auto shown = [](const std::string& word) {
    return arguments_without_secrets({word}).at(0);
  };
  CHECK(shown("a://u@h,b://v:w@i/x") == "a://[redacted]@h,b://[redacted]@i/x");
  CHECK(shown("a://h/x@y") == "a://h/x@y");
  CHECK(shown("a://h") == "a://h");
  CHECK(shown("u@h") == "u@h");
  CHECK(shown("token=5") == "token=[redacted]");
  CHECK(shown("size=5") == "size=5");
  CHECK(arguments_without_secrets({"--token", "--x", "5"}) ==
        std::vector<std::string>{"--token", "[redacted]", "5"});
  CHECK(arguments_without_secrets({"token", "5"}) == std::vector<std::string>{"token", "5"});
}

TEST_CASE("in a program's words a secret follows its name, a colon, an equals sign or a scheme") {
  CHECK(text_without_secrets("a --token x b") == "a --token [redacted] b");
  CHECK(text_without_secrets("password: x b") == "password: [redacted] b");
  CHECK(text_without_secrets("ACCESS_TOKEN = x b : c") == "ACCESS_TOKEN = [redacted] b : c");
  for (const char* label : {"Authorization:", "-H 'Proxy-authorization:", "Authorization :",
                            "\"Authorization\" :", "Authorization="}) {
    CAPTURE(label);
    for (const char* value : {" Basic x b", " NTLM x", " x", "Bearer x"})
      CHECK(text_without_secrets(label + std::string(value)) == label + std::string(" [redacted]"));
  }
  CHECK(text_without_secrets("password:x \"token\":\"y\" b") ==
        "password:[redacted] \"token\":[redacted] b");
  CHECK(text_without_secrets("password := x b") == "password := [redacted] b");
  CHECK(text_without_secrets("authorization failed") == "authorization failed");
  CHECK(text_without_secrets("bearer x b") == "bearer [redacted] b");
  CHECK(text_without_secrets("no token here: size = 5") == "no token here: size = 5");
  CHECK(text_without_secrets("denied (publickey,password).") == "denied (publickey,password).");
  CHECK(text_without_secrets("") == "");
}

TEST_CASE("without values the first two words are the program and what it does, unless options") {
  CHECK(arguments_without_values({"/a/cb", "/b/io", "/c/x", "-d", "--e=f", "g"}) ==
        std::vector<std::string>{"cb", "io", "[redacted]", "-d", "--e=[redacted]", "[redacted]"});
  CHECK(arguments_without_values({"cb", "--x=/y"}) ==
        std::vector<std::string>{"cb", "--x=[redacted]"});
}
