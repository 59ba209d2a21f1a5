// A libibumad of one adapter (LID 1) and one switch of four ports (LID 2, "leaf-0") for tests without
// a subnet. Port 1 of the switch leads to the adapter. Its local port is 5 less InfiniBand's. It
// answers register PDDR with the images of $UMAD_IMAGES: for each local port from 1 on 208 bytes for
// microwatts and 208 for decibels. $UMAD_MOOD: "silent" (no answer of the vendor's class), "old" (no
// registers). $UMAD_KEY: the only key of the vendor's class that is answered. $UMAD_LOG: one line for
// each datagram, "CLASS METHOD ATTRIBUTE MODIFIER".
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 1024, HEAD = 64, MAD = 256, PORTS = 4, PAGE = 208 };

static unsigned char queue[MOST][HEAD + MAD];
static int first, count;

int umad_init(void) { return 0; }
int umad_open_port(const char* device, int number) {
  (void)number;
  return device != NULL && strcmp(device, "mlx5_0") != 0 ? -ENODEV : 0;
}
int umad_close_port(int port) { return port; }
int umad_register(int port, int class, int version, uint8_t rmpp, long* methods) {
  (void)port, (void)version, (void)rmpp, (void)methods;
  return class;
}

static void smp(unsigned char* mad) {
  const int hops = mad[7], attribute = mad[16] << 8 | mad[17], modifier = mad[23];
  const int is_switch = hops == 1;
  unsigned char* data = mad + 64;
  memset(data, 0, 64);
  if (attribute == 0x11) {
    data[2] = is_switch ? 2 : 1;
    data[3] = is_switch ? PORTS : 1;
    data[11] = data[19] = data[27] = (unsigned char)(is_switch ? 2 : 1);
    data[36] = 1;
    data[38] = 0x02, data[39] = 0xc9;
  } else if (attribute == 0x10) {
    strcpy((char*)data, is_switch ? "leaf-0" : "h0 mlx5_0");
  } else if (attribute == 0x15) {
    const int up = modifier == 1;
    data[17] = (unsigned char)(is_switch ? (modifier == 0 ? 2 : 0) : 1);
    data[32] = up ? 4 : 1;
    data[33] = up ? 0x50 : 0x20;
  }
}

static void page_of(unsigned char* mad, int local) {
  FILE* in = fopen(getenv("UMAD_IMAGES"), "rb");
  const long at = (long)(local - 1) * 2 * PAGE + (mad[40] == 0x20 ? 0 : PAGE);
  if (in == NULL || fseek(in, at, SEEK_SET) != 0 || fread(mad + 44, PAGE, 1, in) != 1) mad[5] = 0x1c;
  if (in != NULL) fclose(in);
}

// 0: it does not answer.
static int vendor(unsigned char* mad) {
  const char *mood = getenv("UMAD_MOOD"), *key = getenv("UMAD_KEY");
  const int attribute = mad[17], number = mad[22] << 8 | mad[23], local = mad[37];
  uint64_t given = 0;
  for (int i = 0; i < 8; ++i) given = given << 8 | mad[24 + i];
  if (mood != NULL && strcmp(mood, "silent") == 0) return 0;
  if (key != NULL && strtoull(key, NULL, 0) != given) return 0;
  if (attribute == 0x17)
    mad[161] = mood != NULL && strcmp(mood, "old") == 0 ? 0 : 0x10;
  else if (local < 1 || local > PORTS)
    mad[5] = 0x1c;
  else if (number == 0x500a)
    mad[39] = (unsigned char)(PORTS + 1 - local);
  else
    page_of(mad, local);
  return 1;
}

int umad_send(int port, int agent, void* envelope, int bytes, int timeout_ms, int retries) {
  (void)port, (void)agent, (void)bytes, (void)timeout_ms, (void)retries;
  if (count == MOST) return -ENOMEM;
  unsigned char* to = queue[(first + count++) % MOST];
  memcpy(to, envelope, HEAD + MAD);
  unsigned char* mad = to + HEAD;
  FILE* log = getenv("UMAD_LOG") == NULL ? NULL : fopen(getenv("UMAD_LOG"), "a");
  if (log != NULL) {
    fprintf(log, "%02x %02x %02x%02x %02x%02x\n", mad[1], mad[3], mad[16], mad[17], mad[22], mad[23]);
    fclose(log);
  }
  int answered = 1;
  if (mad[1] == 0x0a)
    answered = vendor(mad);
  else
    smp(mad);
  const uint32_t status = answered ? 0 : ETIMEDOUT;
  memcpy(to + 4, &status, sizeof status);
  return 0;
}

int umad_recv(int port, void* envelope, int* bytes, int wait_ms) {
  (void)port, (void)bytes, (void)wait_ms;
  if (count == 0) return -EWOULDBLOCK;
  memcpy(envelope, queue[first], HEAD + MAD);
  first = (first + 1) % MOST;
  --count;
  return 0;
}
