/* The yardstick: Algorithm 1 of the paper, written down literally in C. Not optimised, and not naive either.
 *
 * Dense buffers of K counts and K reward sums for each ordered pair; a message is a set of K tuples (Definition 1); every
 * slot asks every agent whether it decides. UCB with delta = 1/n_j. Zero delay, threshold one.
 *
 *   cc -O3 -march=native -o literal literal.c -lm
 *   ./literal odc|ibc FAST_COUNT FAST_RATE SLOW_COUNT SLOW_RATE HORIZON SEED < means
 *
 * prints decisions, messages, group regret and seconds.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST_AGENTS = 64, MOST_ARMS = 64 };

static int agents, arms, immediate;
static double mean[MOST_ARMS], rate[MOST_AGENTS];
static int64_t n_hat[MOST_AGENTS][MOST_ARMS], own_pulls[MOST_AGENTS];
static double reward_sum[MOST_AGENTS][MOST_ARMS];
static int demanded[MOST_AGENTS][MOST_AGENTS];
static int64_t buffer_n[MOST_AGENTS][MOST_AGENTS][MOST_ARMS];
static double buffer_mu[MOST_AGENTS][MOST_AGENTS][MOST_ARMS];
static int64_t buffered[MOST_AGENTS][MOST_AGENTS];
static int64_t messages;

static uint64_t state;
static double chance(void) {
    uint64_t z = (state += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return (double)((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

static void share(int j, int p);

static void receive(int p, int j, const int64_t *n, const double *mu) {
    for (int i = 0; i < arms; i++) { n_hat[p][i] += n[i]; reward_sum[p][i] += mu[i]; }
    if (immediate) return;
    if (buffered[p][j] >= 1) share(p, j);
    else demanded[p][j] = 1;
}

static void share(int j, int p) {
    int64_t n[MOST_ARMS];
    double mu[MOST_ARMS];
    memcpy(n, buffer_n[j][p], sizeof(int64_t) * arms);
    memcpy(mu, buffer_mu[j][p], sizeof(double) * arms);
    memset(buffer_n[j][p], 0, sizeof(int64_t) * arms);
    memset(buffer_mu[j][p], 0, sizeof(double) * arms);
    buffered[j][p] = 0;
    messages++;
    receive(p, j, n, mu);
}

static int select_arm(int j) {
    double bonus = 3.0 * log(own_pulls[j] > 1 ? (double)own_pulls[j] : 1.0), best_index = -1.0;
    int best = 0;
    for (int i = 0; i < arms; i++) {
        if (n_hat[j][i] == 0) return i;
        double index = reward_sum[j][i] / n_hat[j][i] + sqrt(bonus / (2.0 * n_hat[j][i]));
        if (index > best_index) { best_index = index; best = i; }
    }
    return best;
}

int main(int argc, char **argv) {
    if (argc != 8) { fprintf(stderr, "usage: literal odc|ibc FAST_COUNT FAST_RATE SLOW_COUNT SLOW_RATE HORIZON SEED\n"); return 2; }
    immediate = strcmp(argv[1], "ibc") == 0;
    int fast = atoi(argv[2]), slow = atoi(argv[4]);
    long horizon = atol(argv[6]);
    state = strtoull(argv[7], NULL, 10);
    agents = fast + slow;
    for (int j = 0; j < agents; j++) rate[j] = j < fast ? atof(argv[3]) : atof(argv[5]);
    while (arms < MOST_ARMS && scanf("%lf", &mean[arms]) == 1) arms++;
    double best = 0.0, regret = 0.0;
    for (int i = 0; i < arms; i++) if (mean[i] > best) best = mean[i];
    for (int j = 0; j < agents; j++) for (int p = 0; p < agents; p++) demanded[j][p] = 1;

    struct timespec before, after;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &before);
    int64_t decisions = 0;
    for (long t = 0; t < horizon; t++) {
        for (int j = 0; j < agents; j++) {
            if (chance() >= rate[j]) continue;
            int i = select_arm(j);
            double x = chance() < mean[i] ? 1.0 : 0.0;
            decisions++;
            regret += best - mean[i];
            own_pulls[j]++; n_hat[j][i]++; reward_sum[j][i] += x;
            for (int p = 0; p < agents; p++) {
                if (p == j) continue;
                buffer_n[j][p][i]++; buffer_mu[j][p][i] += x; buffered[j][p]++;
                if (demanded[j][p]) {
                    if (!immediate) demanded[j][p] = 0;
                    share(j, p);
                }
            }
        }
    }
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &after);
    double seconds = (double)(after.tv_sec - before.tv_sec) + 1e-9 * (double)(after.tv_nsec - before.tv_nsec);
    printf("%lld %lld %.6f %.6f\n", (long long)decisions, (long long)messages, regret, seconds);
    return 0;
}
