// The field of particles and a kernel from C++.
#include <pairforge.hpp>

#include <cmath>
#include <cstdio>
#include <random>
#include <thread>

int main()
{
    const std::size_t n = 3000;
    std::mt19937 random(1);
    std::uniform_real_distribution<double> unit(0, 1);
    std::vector<std::array<double, 3>> x(n);
    std::vector<double> q(n);
    for (std::size_t i = 0; i < n; i++) {
        x[i] = {unit(random), unit(random), unit(random)};
        q[i] = 2 * unit(random) - 1;
    }

    pairforge::plan plan(x, pairforge::options().set("tolerance", 1e-4).set("hessian", 1));
    const pairforge::field right = pairforge::direct(x, q);

    // Runs of one plan in several threads.
    std::vector<pairforge::field> found(3, pairforge::field(0));
    std::vector<std::thread> threads;
    for (auto &one : found)
        threads.emplace_back([&] { one = plan.run(q, true); });
    for (auto &thread : threads)
        thread.join();
    for (const auto &one : found) {
        double error = 0, size = 0, trace = 0, largest = 0;
        for (std::size_t i = 0; i < n; i++) {
            for (int k = 0; k < 3; k++) {
                error += std::pow(one.gradient[k][i] - right.gradient[k][i], 2);
                size += std::pow(right.gradient[k][i], 2);
            }
            // The Hessian of 1/r has no trace.
            trace = std::fmax(trace, std::fabs(one.hessian[0][i] + one.hessian[3][i] + one.hessian[5][i]));
            largest = std::fmax(largest, std::fabs(one.hessian[0][i]));
        }
        std::printf("gradient error %.1e\n", std::sqrt(error / size));
        if (!(std::sqrt(error / size) < 1e-4) || !(trace < 1e-3 * largest))
            return 1;
    }

    // Charges and dipole moments as sets of one run.
    std::vector<std::array<double, 3>> moments(n);
    for (auto &p : moments)
        p = {unit(random) - 0.5, unit(random) - 0.5, unit(random) - 0.5};
    const std::vector<pairforge::sources> sets = {q, moments, {q, moments}};
    const auto fields = plan.run(sets);
    for (std::size_t k = 0; k < sets.size(); k++) {
        const pairforge::field wanted = pairforge::direct(x, sets[k]);
        double error = 0, size = 0;
        for (std::size_t i = 0; i < n; i++) {
            error += std::pow(fields[k].potential[i] - wanted.potential[i], 2);
            size += std::pow(wanted.potential[i], 2);
        }
        if (!(std::sqrt(error / size) < 1e-3))
            return 7;
    }

    // A kernel whose backend and sources stay open.
    auto gravity = pairforge::kernel::shipped("gravity").set("eps2", 1e-4);
    std::vector<std::array<double, 3>> j = {{0.0, 0.0, 0.0}, {0.25, 0.0, 0.0}};
    std::vector<double> m = {1.0, 2.0};
    pairforge::session session(gravity);
    session.sources(pairforge::records().vectors("xj", j).column("mj", m));
    for (double at : {0.5, 0.125}) {
        std::vector<std::array<double, 3>> i = {{at, 0.0, 0.0}};
        if (at == 0.5)
            i[0][0] = 0.4375;
        auto phi = session.run(pairforge::records().vectors("xi", i)).column("phi");
        double wanted = 0;
        for (int k = 0; k < 2; k++)
            wanted -= m[k] / std::sqrt(std::pow(j[k][0] - i[0][0], 2) + 1e-4);
        if (!(std::fabs(phi[0] / wanted - 1) < 1e-4))
            return 2;
    }

    // A failure is an exception with a status.
    try {
        pairforge::options().set("tolerence", 1e-4);
        return 3;
    } catch (const pairforge::error &e) {
        std::printf("%s\n", e.what());
        if (e.status() != PAIRFORGE_USAGE)
            return 4;
    }
    try {
        plan.run(std::vector<double>(7));
        return 5;
    } catch (const pairforge::error &e) {
        std::printf("%s\n", e.what());
        if (e.status() != PAIRFORGE_INPUT)
            return 6;
    }
    return 0;
}
