#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <clblast_c.h>
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <algorithm>
#include <chrono>
int main(int argc, char** argv) {
  cl_platform_id p[8]; cl_uint n=0; clGetPlatformIDs(8,p,&n);
  cl_device_id d; cl_int e=-1; char name[256]="none";
  for (cl_uint i=0;i<n;i++) { if (clGetDeviceIDs(p[i],CL_DEVICE_TYPE_ALL,1,&d,nullptr)==0) { clGetDeviceInfo(d,CL_DEVICE_NAME,256,name,nullptr); e=0; break; } }
  if (e) { puts("no device"); return 1; }
  printf("CLBlast on %s\n", name);
  cl_context c=clCreateContext(nullptr,1,&d,nullptr,nullptr,&e);
  cl_command_queue q=clCreateCommandQueue(c,d,0,&e);
  for (int a=1;a<argc;a++) {
    size_t s=atoi(argv[a]); std::vector<float> h(s*s,0.5f);
    cl_mem A=clCreateBuffer(c,CL_MEM_READ_WRITE|CL_MEM_COPY_HOST_PTR,s*s*4,h.data(),&e), B=clCreateBuffer(c,CL_MEM_READ_WRITE|CL_MEM_COPY_HOST_PTR,s*s*4,h.data(),&e), C=clCreateBuffer(c,CL_MEM_READ_WRITE,s*s*4,nullptr,&e);
    std::vector<double> t; int runs = s<=512?200:(s<=2048?20:8);
    for (int r=0;r<runs+3;r++) {
      auto b=std::chrono::steady_clock::now();
      auto st=CLBlastSgemm(CLBlastLayoutRowMajor,CLBlastTransposeNo,CLBlastTransposeNo,s,s,s,1.f,A,0,s,B,0,s,0.f,C,0,s,&q,nullptr);
      if (st) { printf("status %d\n",(int)st); return 1; }
      clFinish(q);
      if (r>=3) t.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now()-b).count());
    }
    std::sort(t.begin(),t.end()); double m=t[t.size()/2];
    printf("clblast %zu: %.1f us, %.1f GFLOP/s (best %.1f)\n", s, m*1e6, 2.0*s*s*s/m*1e-9, 2.0*s*s*s/t[0]*1e-9); fflush(stdout);
    clReleaseMemObject(A);clReleaseMemObject(B);clReleaseMemObject(C);
  }
}
